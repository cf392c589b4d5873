-- Patterns with back references and lookaround, options in the pattern, and functions that count matches.
select 'aa' ~ '(a)\1', 'ab' ~ '(.)\1', 'abcabc' ~ '^(abc)\1$', 'x1x' ~ '(x)\d\1'
select 'Passw0rd' ~ '^(?=.*[A-Z])(?=.*[0-9]).{8,}$', 'password' ~ '^(?=.*[A-Z])(?=.*[0-9]).{8,}$'
select 'foobar' ~ 'foo(?!bar)', 'foobaz' ~ 'foo(?!bar)', 'price: 10' ~ '(?<=: )\d+', 'a1' ~ '(?<!a)1'
select regexp_replace('foobarrbazz', '(.)\1', '[\&]', 'g'), regexp_replace('1234567', '(\d)(?=(\d{3})+$)', '\1,', 'g')
select regexp_matches('aXbbXb', '(?=b)', 'g')
select regexp_matches('abab', '((ab)\2)')
select 'the cat sat' ~ '\mcat\M(?= sat)', 'concat sat' ~ '\mcat\M(?= sat)', 'a cat' ~ '[[:<:]]cat[[:>:]]'
select 'ab' ~ '(?i)AB', 'AB' ~ '(?c)ab', E'a\nb' ~ '(?n)a.b', E'a\nb' ~ '(?n)^b$', E'a\nb' ~ '(?p)a.b', E'a\nb' ~ '(?w)^b$'
select 'a.b' ~ '***=a.b', 'axb' ~ '***=a.b', 'axb' ~ '***:a.b', 'a.b' ~ '(?q)a.b', 'a b' ~ '(?x)a \ b'
select regexp_replace('baaac', 'a*', 'x', 'g'), regexp_replace('abc', 'x*', '-', 'g'), regexp_replace('abc', '(?=b)', '-', 'g')
select regexp_replace('baaac', 'a*', 'x', 1, 2), regexp_replace('baaac', 'a*', 'x', 1, 3), regexp_replace('abcabc', 'b', 'X', 3)
select regexp_replace('foo', '(o)', '[\1\2\&\\\x]', 'g'), regexp_replace('foo', 'o', '$1', 'g')
select regexp_count('baaac', 'a*'), regexp_count('abc', '(?=b)'), regexp_count('ABAB', 'a', 1, 'i'), regexp_count('abab', 'a', 2), regexp_count('abab', 'a', 9)
select regexp_substr('baaac', 'a*', 1, 2), regexp_substr('1234567890', '(123)(4(56)(78))', 1, 1, 'i', 3), regexp_substr('foo', 'foo(bar)?', 1, 1, '', 1)
select regexp_instr('abcabc', 'a.c', 1, 2), regexp_instr('abcabc', 'a.c', 1, 2, 1), regexp_instr('ABC', 'b', 1, 1, 0, 'i'), regexp_instr('1234567890', '(123)(4(56)(78))', 1, 1, 1, 'i', 3), regexp_instr('abc', 'x')
select regexp_instr('abc', 'a', 0)
select regexp_instr('abc', 'a', 1, 0)
select regexp_instr('abc', 'a', 1, 1, 2)
select regexp_instr('abc', 'a', 1, 1, 0, 'g')
select regexp_instr('abc', 'a', 1, 1, 0, '', -1)
select regexp_like('abc', 'B', 'g')
select regexp_count('abc', 'b', 1, 'g')
select regexp_substr('abc', 'b', 1, 1, 'g')
select regexp_split_to_array('abc', ''), regexp_split_to_array('baaac', 'a*'), regexp_split_to_array('a1b22c', '\d+')
select regexp_matches(chr(10) || '1' || chr(10) || '2', '.?$', 'mg')
select substring('abcdefg' similar 'a#"(b_d)#"%' escape '#'), substring('abcdefg' from 'a#"%#"g' for '#'), substring('abcdefg' similar 'a*#"%#"g*' escape '#')
select substring('abcdefg' similar 'a#"%g' escape '#'), substring('abcdefg' similar 'a%g' escape '#'), substring('abcdefg' similar '%' escape null), substring('xyz' similar 'a#"%g' escape '#')
select substring('abcdefg' similar 'a*#"%#"g*#"x' escape '#')
select 'abc' similar to '_b_' escape '##'
select 'a]b' ~ '[]]', 'a]b' ~ 'a[^]x]b', 'a^b' ~ '[x^]', 'tab	x' ~ '\t'
select '(x)' ~ '(?)'
select 'x' ~ '(?<n>x)\k<n>'
select sind(30), cosd(60), tand(45), cotd(45), asind(0.5), acosd(0.5), atand(1), atan2d(1, 1), sind(-150), cosd(120), tand(135), cotd(-45), sind(400)
select sind('infinity')
select acosd(2)
select parse_ident('Schema.Table'), parse_ident('"S a".b."c""d"'), parse_ident(' a . b '), parse_ident('a.b[1]', false)
select parse_ident('a.b[1]')
select parse_ident('.b')
select parse_ident('a.')
select parse_ident('a."b')
select parse_ident('a.""')
select parse_ident('1a')
select unistr('\0064at\+0000E4 \u00FC\U0001F600 \\ \D83D\DE00')
select unistr('\006')
select unistr('\D83D')
select unistr('\DE00x')
select normalize(U&'a\0308', nfc) = U&'\00e4', normalize(U&'\00e4', nfd) = U&'a\0308', length(normalize(U&'\fb01', nfkc)), U&'\00e4' is normalized, U&'a\0308' is nfc normalized, U&'a\0308' is not nfd normalized
select normalize('abc', 'def')
create table with_pattern (mail text check (mail ~ '^(?!.*\.\.)[^@]+@[^@]+$'))
insert into with_pattern values ('a.b@c'), ('x@y')
insert into with_pattern values ('a..b@c')
select count(*) from with_pattern where mail ~ '^(.).*\1$' or mail ~ '(?<=@)c'
drop table with_pattern
