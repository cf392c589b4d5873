-- SmallBank's six transactions. Customers are found by name, as in the original. Each that writes answers by
-- how much it changed what the bank holds; SB001 says that there is not enough.

CREATE OR REPLACE FUNCTION balance(in_name text)
RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    v_id account.a_id%TYPE;
    v_savings savings.s_balance%TYPE;
    v_checking checking.c_balance%TYPE;
BEGIN
    SELECT a_id INTO STRICT v_id FROM account WHERE a_name = in_name;
    SELECT s_balance INTO STRICT v_savings FROM savings WHERE s_id = v_id;
    SELECT c_balance INTO STRICT v_checking FROM checking WHERE c_id = v_id;
    RETURN v_savings + v_checking;
END
$$;

CREATE OR REPLACE PROCEDURE deposit_checking(in_name text, in_amount bigint, OUT out_change bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    v_id account.a_id%TYPE;
BEGIN
    SELECT a_id INTO STRICT v_id FROM account WHERE a_name = in_name;
    UPDATE checking SET c_balance = c_balance + in_amount WHERE c_id = v_id;
    out_change := in_amount;
END
$$;

-- A deposit, or below zero a withdrawal, which savings must cover.
CREATE OR REPLACE PROCEDURE transact_savings(in_name text, in_amount bigint, OUT out_change bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    v_id account.a_id%TYPE;
    v_savings savings.s_balance%TYPE;
BEGIN
    SELECT a_id INTO STRICT v_id FROM account WHERE a_name = in_name;
    SELECT s_balance INTO STRICT v_savings FROM savings WHERE s_id = v_id;
    IF v_savings + in_amount < 0 THEN
        RAISE EXCEPTION 'savings do not cover this' USING ERRCODE = 'SB001';
    END IF;
    UPDATE savings SET s_balance = s_balance + in_amount WHERE s_id = v_id;
    out_change := in_amount;
END
$$;

-- All that the first customer has moves into the second one's checking account.
CREATE OR REPLACE PROCEDURE amalgamate(in_from text, in_to text, OUT out_change bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    v_from account.a_id%TYPE;
    v_to account.a_id%TYPE;
    v_savings savings.s_balance%TYPE;
    v_checking checking.c_balance%TYPE;
BEGIN
    SELECT a_id INTO STRICT v_from FROM account WHERE a_name = in_from;
    SELECT a_id INTO STRICT v_to FROM account WHERE a_name = in_to;
    SELECT s_balance INTO STRICT v_savings FROM savings WHERE s_id = v_from;
    SELECT c_balance INTO STRICT v_checking FROM checking WHERE c_id = v_from;
    UPDATE savings SET s_balance = s_balance - v_savings WHERE s_id = v_from;
    UPDATE checking SET c_balance = c_balance - v_checking WHERE c_id = v_from;
    UPDATE checking SET c_balance = c_balance + v_savings + v_checking WHERE c_id = v_to;
    out_change := 0;
END
$$;

-- A check that the customer's money does not cover costs one more.
CREATE OR REPLACE PROCEDURE write_check(in_name text, in_amount bigint, OUT out_change bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    v_id account.a_id%TYPE;
    v_savings savings.s_balance%TYPE;
    v_checking checking.c_balance%TYPE;
    v_amount bigint;
BEGIN
    SELECT a_id INTO STRICT v_id FROM account WHERE a_name = in_name;
    SELECT s_balance INTO STRICT v_savings FROM savings WHERE s_id = v_id;
    SELECT c_balance INTO STRICT v_checking FROM checking WHERE c_id = v_id;
    IF v_savings + v_checking < in_amount THEN
        v_amount := in_amount + 100;
    ELSE
        v_amount := in_amount;
    END IF;
    UPDATE checking SET c_balance = c_balance - v_amount WHERE c_id = v_id;
    out_change := -v_amount;
END
$$;

CREATE OR REPLACE PROCEDURE send_payment(in_from text, in_to text, in_amount bigint, OUT out_change bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    v_from account.a_id%TYPE;
    v_to account.a_id%TYPE;
    v_checking checking.c_balance%TYPE;
BEGIN
    SELECT a_id INTO STRICT v_from FROM account WHERE a_name = in_from;
    SELECT a_id INTO STRICT v_to FROM account WHERE a_name = in_to;
    SELECT c_balance INTO STRICT v_checking FROM checking WHERE c_id = v_from;
    IF v_checking < in_amount THEN
        RAISE EXCEPTION 'the checking account does not cover this' USING ERRCODE = 'SB001';
    END IF;
    UPDATE checking SET c_balance = c_balance - in_amount WHERE c_id = v_from;
    UPDATE checking SET c_balance = c_balance + in_amount WHERE c_id = v_to;
    out_change := 0;
END
$$;
