//! Decimal arithmetic against what PostgreSQL 15 prints, and against a second implementation.
//!
//! The tables hold PostgreSQL's own output for the expression in each line.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

use bigdecimal::BigDecimal;
use proptest::prelude::*;
use quintet_base::{Numeric, SqlState};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

fn n(text: &str) -> Numeric {
    Numeric::parse(text).unwrap()
}

/// (left, operator, right, result)
#[rustfmt::skip]
const OPERATIONS: &[(&str, char, &str, &str)] = &[
    ("1", '/', "3", "0.33333333333333333333"),
    ("10", '/', "3", "3.3333333333333333"),
    ("2", '/', "3", "0.66666666666666666667"),
    ("1.00", '/', "3", "0.33333333333333333333"),
    ("12345.678", '/', "0.09", "137174.200000000000"),
    ("1", '/', "10000", "0.000100000000000000000000"),
    ("9999", '/', "10000", "0.99990000000000000000"),
    ("10000", '/', "9999", "1.0001000100010001"),
    ("1", '/', "123456789012345", "0.00000000000000810000007290004521"),
    ("0", '/', "7", "0.00000000000000000000"),
    ("0.00", '/', "7.0", "0.00000000000000000000"),
    ("-7", '/', "2", "-3.5000000000000000"),
    ("-1", '/', "6", "-0.16666666666666666667"),
    ("100.00", '/', "4", "25.0000000000000000"),
    ("1e20", '/', "3", "33333333333333333333"),
    ("1e-20", '/', "3", "0.0000000000000000000033333333333333333333"),
    ("0.00001", '/', "99999.5", "0.0000000001000005000025000125"),
    ("12345678901234567890123456789012345678901234567890", '/', "7", "1763668414462081127160493827001763668414462081127"),
    ("1", '/', "12345678901234567890123456789012345678901234567890", "0.00000000000000000000000000000000000000000000000008100000072900000663"),
    ("999999999999999999999999.99", '/', "1.01", "990099009900990099009900.98"),
    ("4", '/', "2", "2.0000000000000000"),
    ("1", '/', "0.0003", "3333.3333333333333333"),
    ("0.1", '/', "0.3", "0.33333333333333333333"),
    ("5000", '/', "0.5", "10000.0000000000000000"),
    ("-0.5", '/', "7777777", "-0.000000064285720714286357"),
    ("1.10", '*', "2.5", "2.750"),
    ("0.00", '*', "5", "0.00"),
    ("-1.5", '*', "-1.50", "2.250"),
    ("99999999999999999999", '*', "99999999999999999999", "9999999999999999999800000000000000000001"),
    ("12345678901234567890.123456789", '*', "98765432109876543210.987654321", "1219326311370217952261850327336229233322.374638011112635269"),
    ("170141183460469231731687303715884105727", '*', "2", "340282366920938463463374607431768211454"),
    ("0.001", '*', "0.001", "0.000001"),
    ("1.1", '+', "2.22", "3.32"),
    ("170141183460469231731687303715884105727", '+', "1", "170141183460469231731687303715884105728"),
    ("1.10", '-', "1.1", "0.00"),
    ("0", '-', "0.00", "0.00"),
    ("1e30", '-', "0.1", "999999999999999999999999999999.9"),
    ("7", '%', "2", "1"),
    ("-7", '%', "2", "-1"),
    ("7", '%', "-2", "1"),
    ("7.5", '%', "2", "1.5"),
    ("1e30", '%', "7", "1"),
    ("5.5", '%', "0.3", "0.1"),
    ("-5.5", '%', "0.25", "0.00"),
    ("-51750", '*', "-3960482443532127990.1", "204954966452787623487675.0"),
    ("12175294", '/', "84641178.77575106801", "0.14384598815970308277"),
    ("71.40755516653229", '/', "658218672219201985", "0.00000000000000010848606729095028"),
    ("601713882578", '%', "9578621805965653.5270514", "601713882578.0000000"),
    ("-271870429101", '%', "-41496206415154235", "-271870429101"),
    ("-793919.159367", '/', "-86.97", "9128.6553911348740945"),
    ("-54319778597937997879", '*', "782332127414021201918775.7825107365", "-42496107951183451717879641725529473869678326.6317278835"),
    ("-7", '*', "-28", "196"),
    ("-2996985575569895.53907779", '/', "77437676164618.92588", "-38.7019048608693981"),
    ("-20256261", '/', "9149807584800820423147.25664959859807", "-0.00000000000000221384557131547076"),
    ("54912.396483003", '*', "68991818828718712981634.878169934037812", "3788506109606113609585499683.747764238924167617309436"),
    ("-8470120196140", '%', "7392493.112", "-1185724.424"),
    ("3", '/', "-66667805751908262685.649", "-0.000000000000000000044999231130599039"),
    ("-2078021669525163.65584055360419", '/', "-368871839.95", "5633451.63406031817865"),
    ("-3495959320664934189678.8654", '/', "4093593453602525763852", "-0.85400745342416705699"),
    ("-372974.9368280560167", '%', "34174969333449583363", "-372974.9368280560167"),
    ("-33204409333.4", '/', "-5776076.97056591", "5748.6092208613356750"),
    ("13711300", '/', "-8097579.4303163444", "-1.6932590927934062"),
    ("3507915142290.23960779", '/', "-821.508506254334", "-4270089859.792894917864"),
    ("133209.2", '/', "76663052900741959315", "0.00000000000000173759320767554218"),
    ("62518528106164104", '/', "-4915165.258277203", "-12719517009.297312975"),
    ("-7982.398327034906650", '*', "-76644052735996798", "611803358336996000155.993928628906700"),
    ("21625979880187983015", '/', "71650067633.596401168", "301827766.454858952"),
    ("25676674", '/', "-876212429885945283.71347620860142", "-0.0000000000293041654331955531"),
    ("76783693141786118955444.866898501", '/', "39234892961509526388526.228096879489746", "1.9570256816327488"),
    ("-6428", '/', "29931941137134.20516769266", "-0.0000000002147538634580998148"),
    ("-61307.1542", '%', "-700274.22721337832299", "-61307.15420000000000"),
    ("-27579172470", '/', "-6.492493986", "4247854912.067684432"),
    ("-83826740108", '/', "14063280.33", "-5960.6818708704500382"),
    ("811508888.839", '/', "-9436684679775.642434829175592", "-0.000085995126082595106601"),
    ("61768618.3224181292429", '/', "18072926", "3.4177431104635812"),
    ("-7434.5", '/', "-74583980641933910121", "0.000000000000000099679581808483487881"),
    ("6995089114", '/', "-756779680386677.277", "-0.000009243230619545509934"),
    ("-1", '*', "-60002781.84", "60002781.84"),
    ("-99114029603806882.3761", '/', "21114806924432184281105", "-0.000004694053322795052725"),
    ("640.282951819582", '%', "11.55152830313", "4.948895147432"),
    ("69415932433864914756014.161", '/', "-5.344904", "-12987311359355549651783.111727"),
    ("5230694040.1", '/', "-487", "-10740644.846201232033"),
    ("270.20246861321249", '/', "5270021483840", "0.0000000000512716066607625137"),
    ("7352808718254069257853", '%', "-174997679587849400457173.8", "7352808718254069257853.0"),
    ("72687531534837485", '/', "1.652", "43999716425446419.492"),
    ("-57172708533314", '%', "-3558734", "-2688206"),
    ("304878080451292742691050", '*', "556519374351281300829741", "169670558586173043348570766087513633978214518050"),
    ("-1498524912634995017522524.4928153177", '/', "-2461552197655647401.8141783", "608772.348627086622"),
    ("73983908341851665121843.92913", '/', "-863754285875382", "-85653882.766985981340"),
    ("5216766137150480.10262856", '/', "-1310870012673.387848844", "-3979.6212337723776694"),
    ("85439197927886667262.14768", '*', "7099123466745546", "606543414989777667607590761876084034.23328"),
    ("-7319228605280.394375", '/', "42957152133", "-170.3844003117168739"),
    ("-399670335.50", '/', "472126064538", "-0.00084653308834177221"),
    ("-279448146733902778787.57178", '/', "561166266561205387714173", "-0.00049797745050917788"),
    ("743393656333173794001760.5037436054125", '/', "196876104485009805.55682459", "3775946.5948279973595"),
    ("-793530107.721452698568", '/', "-558951772292090767021.718200127", "0.0000000000014196754479683063"),
    ("241194325703305353672.972767043", '%', "374739788930449", "180614211533353.972767043"),
    ("12175495", '/', "-49433106", "-0.24630244759453310500"),
    ("-3695923159601.4533872", '/', "6487801364887735", "-0.00056967267518453190"),
    ("-51614871.7480262", '%', "-3.6", "-1.3480262"),
    ("-1.8856044", '%', "-14635907", "-1.8856044"),
    ("552883874382685061904355", '/', "30485.3951026795", "18136024562597503749.8816929784"),
    ("-63040381652302138", '%', "2503497688", "-1643593802"),
    ("8.60383", '%', "-293003914460061214495", "8.60383"),
];

#[test]
fn operations_print_what_postgresql_prints() {
    for (a, operator, b, expected) in OPERATIONS {
        let (x, y) = (n(a), n(b));
        let result = match operator {
            '+' => x.add(&y),
            '-' => x.sub(&y),
            '*' => x.mul(&y),
            '/' => x.div(&y),
            _ => x.rem(&y),
        };
        assert_eq!(result.unwrap().to_string(), *expected, "{a} {operator} {b}");
    }
}

/// (function, argument, result)
#[rustfmt::skip]
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("sqrt", "2", "1.414213562373095"),
    ("sqrt", "1.44", "1.200000000000000"),
    ("sqrt", "0", "0.000000000000000"),
    ("sqrt", "0.00", "0.000000000000000"),
    ("sqrt", "123456789.123", "11111.11106609056"),
    ("sqrt", "1e20", "10000000000.00000"),
    ("sqrt", "0.0001", "0.01000000000000000"),
    ("sqrt", "1e-10", "0.000010000000000000000"),
    ("sqrt", "99999999999999999999999999", "10000000000000.000"),
    ("sqrt", "0.5", "0.70710678118654752"),
    ("sqrt", "10000", "100.0000000000000"),
    ("sqrt", "9999.9999", "99.999999499999999"),
    ("sqrt", "12345678.9", "3513.6418286444622"),
    ("sqrt", "3e-7", "0.0005477225575051661"),
    ("ln", "2", "0.6931471805599453"),
    ("ln", "10", "2.3025850929940457"),
    ("ln", "1.05", "0.048790164169432003"),
    ("ln", "1", "0.0000000000000000"),
    ("ln", "1e100", "230.25850929940457"),
    ("ln", "0.001", "-6.9077552789821371"),
    ("ln", "0.99999", "-0.000010000050000333336"),
    ("ln", "12345678901234567890123.456", "50.867593068184658"),
    ("ln", "1e-50", "-115.12925464970228420089957273421821038005507443143865"),
    ("ln", "1.0000000001", "0.00000000009999999999500000"),
    ("ln", "0.5", "-0.6931471805599453"),
    ("ln", "2.718281828459045235", "1.000000000000000000"),
    ("ln", "1.1", "0.09531017980432486"),
    ("ln", "0.9", "-0.10536051565782630"),
    ("ln", "5", "1.6094379124341004"),
    ("ln", "50000", "10.819778284410283"),
    ("ln", "3e20", "47.150314148549023"),
    ("ln", "1.1000001", "0.09531027071341164"),
    ("ln", "0.89", "-0.1165338162559515"),
    ("exp", "1", "2.7182818284590452"),
    ("exp", "0", "1.0000000000000000"),
    ("exp", "10.5", "36315.502674246638"),
    ("exp", "-3", "0.04978706836786394"),
    ("exp", "100", "26881171418161354484126255515800135873611119"),
    ("exp", "-50.0", "0.0000000000000000000001928749847963918"),
    ("exp", "0.0000001", "1.0000001000000050"),
    ("exp", "1.123456789012345678901234567890", "3.075467090314884708969442161416"),
    ("exp", "-0.5", "0.6065306597126334"),
    ("exp", "1000", "197007111401704699388887935224332312531693798532384578995280299138506385078244119347497807656302688993096381798752022693598298173054461289923262783660152825232320535169584566756192271567602788071422466826314006855168508653497941660316045367817938092905299728580132869945856470286534375900456564355589156220422320260518826112288638358372248724725214506150418881937494100871264232248436315760560377439930623959705844189509050047074217568"),
    ("exp", "-1000.25", "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003953160764249782"),
    ("exp", "0.00", "1.0000000000000000"),
    ("ceil", "1.5", "2"),
    ("floor", "1.5", "1"),
    ("abs", "1.5", "1.5"),
    ("sign", "1.5", "1"),
    ("trim_scale", "1.5", "1.5"),
    ("ceil", "-1.5", "-1"),
    ("floor", "-1.5", "-2"),
    ("abs", "-1.5", "1.5"),
    ("sign", "-1.5", "-1"),
    ("trim_scale", "-1.5", "-1.5"),
    ("ceil", "1.00", "1"),
    ("floor", "1.00", "1"),
    ("abs", "1.00", "1.00"),
    ("sign", "1.00", "1"),
    ("trim_scale", "1.00", "1"),
    ("ceil", "-0.1", "0"),
    ("floor", "-0.1", "-1"),
    ("abs", "-0.1", "0.1"),
    ("sign", "-0.1", "-1"),
    ("trim_scale", "-0.1", "-0.1"),
    ("ceil", "0.1", "1"),
    ("floor", "0.1", "0"),
    ("abs", "0.1", "0.1"),
    ("sign", "0.1", "1"),
    ("trim_scale", "0.1", "0.1"),
    ("ceil", "0.00", "0"),
    ("floor", "0.00", "0"),
    ("abs", "0.00", "0.00"),
    ("sign", "0.00", "0"),
    ("trim_scale", "0.00", "0"),
    ("ceil", "-7", "-7"),
    ("floor", "-7", "-7"),
    ("abs", "-7", "7"),
    ("sign", "-7", "-1"),
    ("trim_scale", "-7", "-7"),
];

#[test]
fn functions_print_what_postgresql_prints() {
    for (function, argument, expected) in FUNCTIONS {
        let x = n(argument);
        let result = match *function {
            "sqrt" => x.sqrt().unwrap(),
            "ln" => x.ln().unwrap(),
            "exp" => x.exp().unwrap(),
            "ceil" => x.ceil().unwrap(),
            "floor" => x.floor().unwrap(),
            "abs" => x.abs(),
            "sign" => x.sign(),
            "trim_scale" => x.trim_scale(),
            other => panic!("no function {other}"),
        };
        assert_eq!(result.to_string(), *expected, "{function}({argument})");
    }
}

/// (base, exponent, result)
#[rustfmt::skip]
const POWERS: &[(&str, &str, &str)] = &[
    ("2", "3", "8.0000000000000000"),
    ("2", "-2", "0.2500000000000000"),
    ("2", "0.5", "1.4142135623730950"),
    ("10", "20", "100000000000000000000.0000000000000000"),
    ("1.5", "2", "2.2500000000000000"),
    ("0", "0", "1.0000000000000000"),
    ("1.10", "1", "1.1000000000000000"),
    ("1.10", "0", "1.0000000000000000"),
    ("2.0", "-1", "0.5000000000000000"),
    ("0.01", "50", "0.0000000000000000"),
    ("1.0000001", "1000000", "1.1051709125497934"),
    ("-2", "3", "-8.0000000000000000"),
    ("-2", "-3", "-0.1250000000000000"),
    ("2", "100.0", "1267650600228229401496703205376.0000000000000000"),
    ("0", "5", "0.0000000000000000"),
    ("7", "-20", "0.0000000000000000"),
    ("0.12345678901234567890", "2", "0.01524157875323883675"),
    ("0.12345678901234567890", "3", "0.00188167637235365777"),
    ("3.33", "7", "4540.5622543894787700"),
    ("-1", "1000001", "-1.0000000000000000"),
    ("12345.678", "-3", "0.0000000000005314"),
    ("0.00001", "0.5", "0.003162277660168379"),
    ("123456789", "1.7", "56960718808598.983"),
    ("1.5", "100.123456789012345678901234567890", "427430557339108532.569349152841896481076416556386"),
    ("2", "2.5", "5.6568542494923802"),
    ("1e10", "0.333", "2137.9620895022321"),
    ("0.5", "0.5", "0.7071067811865475"),
    ("0", "0.5", "0.0000000000000000"),
    ("9.99", "99", "905697844958667709741956562802753100901389806139609538815019658231017504097064752403846139892968390.5540248523961721"),
    ("1.00000001", "4000000000", "235385219759971639.55588305"),
    ("-1", "3000000001", "-1.0000000000000000"),
    ("1", "3000000001", "1.0000000000000000"),
    ("2", "-0.5", "0.7071067811865475"),
    ("0.1", "-3.5", "3162.2776601683793"),
    ("0.5", "200", "0.0000000000000000"),
];

#[test]
fn powers_print_what_postgresql_prints() {
    for (base, exponent, expected) in POWERS {
        let result = n(base).power(&n(exponent)).unwrap();
        assert_eq!(result.to_string(), *expected, "{base} ^ {exponent}");
    }
}

/// (value, scale, rounded, truncated)
#[rustfmt::skip]
const ROUNDINGS: &[(&str, i32, &str, &str)] = &[
    ("1234.5678", 0, "1235", "1234"),
    ("1234.5678", 2, "1234.57", "1234.56"),
    ("1234.5678", 6, "1234.567800", "1234.567800"),
    ("1234.5678", -1, "1230", "1230"),
    ("1234.5678", -2, "1200", "1200"),
    ("1234.5678", -5, "0", "0"),
    ("-1234.5678", 0, "-1235", "-1234"),
    ("-1234.5678", 2, "-1234.57", "-1234.56"),
    ("-1234.5678", 6, "-1234.567800", "-1234.567800"),
    ("-1234.5678", -1, "-1230", "-1230"),
    ("-1234.5678", -2, "-1200", "-1200"),
    ("-1234.5678", -5, "0", "0"),
    ("0.5", 0, "1", "0"),
    ("0.5", 2, "0.50", "0.50"),
    ("0.5", 6, "0.500000", "0.500000"),
    ("0.5", -1, "0", "0"),
    ("0.5", -2, "0", "0"),
    ("0.5", -5, "0", "0"),
    ("-0.5", 0, "-1", "0"),
    ("-0.5", 2, "-0.50", "-0.50"),
    ("-0.5", 6, "-0.500000", "-0.500000"),
    ("-0.5", -1, "0", "0"),
    ("-0.5", -2, "0", "0"),
    ("-0.5", -5, "0", "0"),
    ("2.5", 0, "3", "2"),
    ("2.5", 2, "2.50", "2.50"),
    ("2.5", 6, "2.500000", "2.500000"),
    ("2.5", -1, "0", "0"),
    ("2.5", -2, "0", "0"),
    ("2.5", -5, "0", "0"),
    ("1.005", 0, "1", "1"),
    ("1.005", 2, "1.01", "1.00"),
    ("1.005", 6, "1.005000", "1.005000"),
    ("1.005", -1, "0", "0"),
    ("1.005", -2, "0", "0"),
    ("1.005", -5, "0", "0"),
    ("99.995", 0, "100", "99"),
    ("99.995", 2, "100.00", "99.99"),
    ("99.995", 6, "99.995000", "99.995000"),
    ("99.995", -1, "100", "90"),
    ("99.995", -2, "100", "0"),
    ("99.995", -5, "0", "0"),
    ("15", 0, "15", "15"),
    ("15", 2, "15.00", "15.00"),
    ("15", 6, "15.000000", "15.000000"),
    ("15", -1, "20", "10"),
    ("15", -2, "0", "0"),
    ("15", -5, "0", "0"),
    ("-15", 0, "-15", "-15"),
    ("-15", 2, "-15.00", "-15.00"),
    ("-15", 6, "-15.000000", "-15.000000"),
    ("-15", -1, "-20", "-10"),
    ("-15", -2, "0", "0"),
    ("-15", -5, "0", "0"),
    ("0.00", 0, "0", "0"),
    ("0.00", 2, "0.00", "0.00"),
    ("0.00", 6, "0.000000", "0.000000"),
    ("0.00", -1, "0", "0"),
    ("0.00", -2, "0", "0"),
    ("0.00", -5, "0", "0"),
    ("9999999999999999999999999999999999999999.5", 0, "10000000000000000000000000000000000000000", "9999999999999999999999999999999999999999"),
    ("9999999999999999999999999999999999999999.5", 2, "9999999999999999999999999999999999999999.50", "9999999999999999999999999999999999999999.50"),
    ("9999999999999999999999999999999999999999.5", 6, "9999999999999999999999999999999999999999.500000", "9999999999999999999999999999999999999999.500000"),
    ("9999999999999999999999999999999999999999.5", -1, "10000000000000000000000000000000000000000", "9999999999999999999999999999999999999990"),
    ("9999999999999999999999999999999999999999.5", -2, "10000000000000000000000000000000000000000", "9999999999999999999999999999999999999900"),
    ("9999999999999999999999999999999999999999.5", -5, "10000000000000000000000000000000000000000", "9999999999999999999999999999999999900000"),
];

#[test]
fn rounding_prints_what_postgresql_prints() {
    for (value, scale, rounded, truncated) in ROUNDINGS {
        let x = n(value);
        assert_eq!(
            x.round(*scale).unwrap().to_string(),
            *rounded,
            "round({value}, {scale})"
        );
        assert_eq!(
            x.trunc(*scale).unwrap().to_string(),
            *truncated,
            "trunc({value}, {scale})"
        );
    }
}

/// (values, their avg)
#[rustfmt::skip]
const AVERAGES: &[(&[&str], &str)] = &[
    (&["1", "2"], "1.5000000000000000"),
    (&["1", "2", "4"], "2.3333333333333333"),
    (&["1.10", "2.20", "3.30"], "2.2000000000000000"),
    (&["0.01", "0.02", "0.02"], "0.01666666666666666667"),
    (&["100", "200", "301"], "200.3333333333333333"),
    (&["1e10", "1"], "5000000000.50000000"),
    (&["-5", "5"], "0.00000000000000000000"),
    (&["0", "0", "1"], "0.33333333333333333333"),
];

#[test]
fn averages_print_what_postgresql_prints() {
    for (values, expected) in AVERAGES {
        let sum = values
            .iter()
            .try_fold(Numeric::ZERO, |sum, v| sum.add(&n(v)))
            .unwrap();
        let average = sum.div(&Numeric::from_i64(values.len() as i64)).unwrap();
        assert_eq!(average.to_string(), *expected, "avg of {values:?}");
    }
}

#[test]
fn doubles_keep_fifteen_digits_and_reals_six() {
    for (double, expected) in [
        ("0.1", "0.1"),
        ("1e20", "100000000000000000000"),
        ("123456789.123456789", "123456789.123457"),
        ("1e-7", "0.0000001"),
        ("-2.5", "-2.5"),
        ("0", "0"),
        ("12345678901234567", "12345678901234600"),
        ("0.30000000000000004", "0.3"),
        ("1e15", "1000000000000000"),
        ("-0.0", "0"),
    ] {
        let double: f64 = double.parse().unwrap();
        assert_eq!(Numeric::from_f64(double).to_string(), expected);
    }
    for (real, expected) in [
        (0.1, "0.1"),
        (16777216.0, "16777200"),
        (1e10, "10000000000"),
    ] {
        assert_eq!(Numeric::from_f32(real).to_string(), expected);
    }
    assert_eq!(Numeric::from_f64(f64::MAX).to_string().len(), 309);
    assert_eq!(Numeric::from_f64(5e-324).scale(), 338);
    assert!(Numeric::from_f64(f64::NAN).is_nan());
    assert_eq!(
        Numeric::from_f64(f64::NEG_INFINITY).to_string(),
        "-Infinity"
    );
}

/// (input, what it prints as)
#[test]
fn input_keeps_the_scale_that_was_written() {
    for (text, expected) in [
        ("1.10", "1.10"),
        (" -1.50 ", "-1.50"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-.5e1", "-5"),
        ("1e5", "100000"),
        ("1.50e1", "15.0"),
        ("1e-3", "0.001"),
        ("1.2E+2", "120"),
        ("-0.00", "0.00"),
        ("000123", "123"),
        ("0e200000", "0"),
        ("nan", "NaN"),
        ("inf", "Infinity"),
        ("+Infinity", "Infinity"),
        ("-INF", "-Infinity"),
    ] {
        assert_eq!(n(text).to_string(), expected, "{text:?}");
    }
    for text in [
        "", " ", "x", "1x", "1 2", "--1", "-", ".", "e5", "1e", "1e+", "1.2.3", "-NaN", "+nan",
        "0x1f", "1_000", "infinit", "\u{661}",
    ] {
        let error = Numeric::parse(text).unwrap_err();
        assert_eq!(
            error.state,
            SqlState::INVALID_TEXT_REPRESENTATION,
            "{text:?}"
        );
        assert_eq!(
            error.message,
            format!("invalid input syntax for type numeric: \"{text}\"")
        );
    }
}

#[test]
fn numbers_beyond_the_format_are_refused() {
    let state = |result: quintet_base::SqlResult<Numeric>| result.unwrap_err().state;
    let too_big = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    assert_eq!(n("1e131071").to_string().len(), 131_072);
    for text in [
        "1e131072",
        "1e-16384",
        "0e-20000",
        "1e999999999999",
        "9e-999999999999",
    ] {
        assert_eq!(state(Numeric::parse(text)), too_big, "{text}");
    }
    assert_eq!(n("1e-16383").scale(), 16_383);
    let long = n("9e131071");
    assert_eq!(state(long.add(&long)), too_big);
    assert_eq!(state(long.mul(&n("10"))), too_big);
    assert_eq!(state(long.div(&n("0.1"))), too_big);
    assert_eq!(state(n("10").power(&n("131072"))), too_big);
    assert_eq!(
        n("10").power(&n("131071")).unwrap().trunc(0).unwrap(),
        n("1e131071")
    );
    assert_eq!(state(n("1.5").power(&n("3000000000"))), too_big);
    assert_eq!(state(n("2").power(&n("1e131071"))), too_big);
    assert_eq!(state(n("400000").exp()), too_big);
    assert_eq!(n("0.99").power(&n("3000000000")).unwrap(), Numeric::ZERO);
    assert_eq!(n("-7000").exp().unwrap(), Numeric::ZERO);
    // Products keep at most the largest scale.
    let tiny = n("1e-10000");
    assert_eq!(tiny.mul(&tiny).unwrap().scale(), 16_383);
}

#[test]
fn impossible_operations_are_refused_with_their_state() {
    let power = SqlState::INVALID_ARGUMENT_FOR_POWER;
    let division = SqlState::DIVISION_BY_ZERO;
    for (result, state, message) in [
        (n("1").div(&n("0.0")), division, "division by zero"),
        (n("1").rem(&n("0")), division, "division by zero"),
        (n("inf").div(&n("0")), division, "division by zero"),
        (n("inf").rem(&n("0")), division, "division by zero"),
        (n("7").div_trunc(&n("0")), division, "division by zero"),
        (
            n("-1").sqrt(),
            power,
            "cannot take square root of a negative number",
        ),
        (
            n("-inf").sqrt(),
            power,
            "cannot take square root of a negative number",
        ),
        (
            n("-1").power(&n("0.5")),
            power,
            "a negative number raised to a non-integer power yields a complex result",
        ),
        (
            n("0").power(&n("-1")),
            power,
            "zero raised to a negative power is undefined",
        ),
        (
            n("0").power(&n("-inf")),
            power,
            "zero raised to a negative power is undefined",
        ),
        (
            n("0").ln(),
            SqlState::INVALID_ARGUMENT,
            "cannot take logarithm of zero",
        ),
        (
            n("-1").ln(),
            SqlState::INVALID_ARGUMENT,
            "cannot take logarithm of a negative number",
        ),
    ] {
        let error = result.unwrap_err();
        assert_eq!((error.state, error.message.as_str()), (state, message));
    }
}

/// (left, operator, right, result) with NaN and the infinities, as PostgreSQL prints them.
#[test]
fn nan_and_infinities_follow_postgresql() {
    for (a, operator, b, expected) in [
        ("NaN", '/', "0", "NaN"),
        ("NaN", '%', "0", "NaN"),
        ("NaN", '+', "1", "NaN"),
        ("inf", '-', "inf", "NaN"),
        ("inf", '-', "1", "Infinity"),
        ("1", '-', "inf", "-Infinity"),
        ("inf", '*', "0", "NaN"),
        ("-inf", '*', "-2", "Infinity"),
        ("1.5", '/', "inf", "0"),
        ("inf", '/', "-2", "-Infinity"),
        ("inf", '/', "inf", "NaN"),
        ("5.5", '%', "-inf", "5.5"),
        ("inf", '%', "5", "NaN"),
        ("NaN", '^', "0", "1"),
        ("1.0", '^', "NaN", "1"),
        ("2", '^', "NaN", "NaN"),
        ("inf", '^', "-1", "0"),
        ("2", '^', "inf", "Infinity"),
        ("0.5", '^', "inf", "0"),
        ("0.5", '^', "-inf", "Infinity"),
        ("-1", '^', "inf", "1"),
        ("-2", '^', "inf", "Infinity"),
        ("-0.5", '^', "inf", "0"),
        ("0", '^', "inf", "0"),
        ("-inf", '^', "3", "-Infinity"),
        ("-inf", '^', "2", "Infinity"),
        ("-inf", '^', "-3", "0"),
        ("inf", '^', "0", "1"),
    ] {
        let (x, y) = (n(a), n(b));
        let result = match operator {
            '+' => x.add(&y),
            '-' => x.sub(&y),
            '*' => x.mul(&y),
            '/' => x.div(&y),
            '%' => x.rem(&y),
            _ => x.power(&y),
        };
        assert_eq!(result.unwrap().to_string(), expected, "{a} {operator} {b}");
    }
    let sorted = ["-inf", "-1e100", "-1", "0", "1.5", "1e100", "inf", "NaN"].map(n);
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
        }
    }
    assert_eq!(n("-inf").exp().unwrap().to_string(), "0");
    assert_eq!(n("inf").sqrt().unwrap().to_string(), "Infinity");
    assert_eq!(n("-inf").abs().to_string(), "Infinity");
    assert_eq!(n("NaN").sign().to_string(), "NaN");
    assert_eq!(n("inf").round(2).unwrap().to_string(), "Infinity");
}

#[test]
fn columns_hold_what_their_modifier_allows() {
    for (value, precision, scale, expected) in [
        ("1.005", 4, 2, "1.01"),
        ("99.99", 4, 2, "99.99"),
        ("-99.994", 4, 2, "-99.99"),
        ("7", 4, 2, "7.00"),
        ("0.5", 2, 2, "0.50"),
        ("NaN", 4, 2, "NaN"),
        ("12350", 3, -2, "12400"),
        ("-49", 1, -2, "0"),
        ("0.00123", 3, 5, "0.00123"),
    ] {
        let held = n(value).apply_typmod(precision, scale).unwrap();
        assert_eq!(held.to_string(), expected);
    }
    for (value, precision, scale, detail) in [
        (
            "100",
            4,
            2,
            "must round to an absolute value less than 10^2.",
        ),
        (
            "99.995",
            4,
            2,
            "must round to an absolute value less than 10^2.",
        ),
        ("1.0", 2, 2, "must round to an absolute value less than 1."),
        (
            "-10",
            1,
            0,
            "must round to an absolute value less than 10^1.",
        ),
        ("-inf", 4, 2, "cannot hold an infinite value."),
        (
            "99950",
            3,
            -2,
            "must round to an absolute value less than 10^5.",
        ),
    ] {
        let error = n(value).apply_typmod(precision, scale).unwrap_err();
        assert_eq!(error.state, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
        assert_eq!(error.message, "numeric field overflow");
        assert_eq!(
            error.detail.as_deref(),
            Some(format!("A field with precision {precision}, scale {scale} {detail}").as_str())
        );
    }
}

#[test]
fn conversion_to_integers_rounds_half_away_from_zero() {
    for (value, expected) in [
        ("1.5", Some(2)),
        ("2.5", Some(3)),
        ("-2.5", Some(-3)),
        ("0.49", Some(0)),
        ("9223372036854775807.4", Some(i64::MAX)),
        ("9223372036854775807.5", None),
        ("-9223372036854775808.4", Some(i64::MIN)),
        ("1e30", None),
        ("NaN", None),
        ("inf", None),
    ] {
        assert_eq!(n(value).to_i64(), expected, "{value}");
    }
}

/// The form of stored numbers may never change: these bytes are on disks.
#[test]
fn stored_form_is_what_it_always_was() {
    for (value, bytes) in [
        ("0", &[0][..]),
        ("0.00", &[2]),
        ("1.10", &[2, 110]),
        ("-1", &[0, 255]),
        ("128", &[0, 128, 0]),
        ("-129.5", &[1, 0xF1, 0xFA]),
        ("1e-100", &[64, 100, 0, 1]),
        ("NaN", &[65]),
        ("-Infinity", &[66]),
        ("Infinity", &[67]),
    ] {
        assert_eq!(n(value).to_bytes(), bytes, "{value}");
        assert_eq!(
            Numeric::from_bytes(bytes).unwrap().to_string(),
            n(value).to_string()
        );
    }
    for garbage in [
        &[][..],
        &[0, 0],
        &[2, 110, 0],
        &[0, 255, 255],
        &[64],
        &[64, 3, 0, 1],
        &[64, 0xFF, 0xFF, 1],
        &[65, 0],
        &[68],
        &[255, 1],
    ] {
        assert!(Numeric::from_bytes(garbage).is_none(), "{garbage:?}");
    }
}

/// Decimal text of up to 60 digits, any scale up to 30: both sides of the 128-bit border.
fn decimal() -> impl Strategy<Value = String> {
    ("-?[0-9]{1,30}", "(\\.[0-9]{1,30})?").prop_map(|(whole, fraction)| whole + &fraction)
}

/// Decimals near each other and near powers of ten, where rounding and order go wrong.
fn nasty() -> impl Strategy<Value = String> {
    let digit = prop_oneof![Just('0'), Just('9'), Just('1'), Just('5')];
    (
        prop::bool::ANY,
        prop::collection::vec(digit, 1..45),
        0usize..45,
    )
        .prop_map(|(negative, digits, scale)| {
            let mut text: String = digits.into_iter().collect();
            let scale = scale.min(text.len());
            text.insert(text.len() - scale, '.');
            if text.len() == 1 || text == "." {
                text.push('0');
            }
            if negative { format!("-{text}") } else { text }
        })
}

fn any_decimal() -> impl Strategy<Value = String> {
    prop_oneof![decimal(), nasty()]
}

fn reference(text: &str) -> BigDecimal {
    BigDecimal::from_str(text).unwrap()
}

fn same(ours: &Numeric, reference: &BigDecimal) -> bool {
    BigDecimal::from_str(&ours.to_string()).unwrap() == *reference
}

fn hash(value: &Numeric) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

proptest! {
    #[test]
    fn sums_products_and_order_agree_with_bigdecimal(a in any_decimal(), b in any_decimal()) {
        let (x, y) = (n(&a), n(&b));
        let (p, q) = (reference(&a), reference(&b));
        prop_assert!(same(&x.add(&y).unwrap(), &(&p + &q)));
        prop_assert!(same(&x.sub(&y).unwrap(), &(&p - &q)));
        prop_assert!(same(&x.mul(&y).unwrap(), &(&p * &q)));
        prop_assert_eq!(x.cmp(&y), p.cmp(&q));
        if !y.is_zero() {
            prop_assert!(same(&x.rem(&y).unwrap(), &(&p % &q)));
        }
    }

    /// quotient × divisor lies within half a unit of the last place of the dividend.
    #[test]
    fn quotients_are_the_nearest(a in any_decimal(), b in any_decimal()) {
        let (x, y) = (n(&a), n(&b));
        prop_assume!(!y.is_zero());
        let quotient = x.div(&y).unwrap();
        let error = x.sub(&quotient.mul(&y).unwrap()).unwrap().abs();
        let half_unit = Numeric::from_parts(5, quotient.scale() + 1).unwrap();
        prop_assert!(error <= half_unit.mul(&y.abs()).unwrap());
    }

    #[test]
    fn roots_are_the_nearest(a in any_decimal()) {
        let x = n(&a).abs();
        let root = x.sqrt().unwrap();
        let half = Numeric::from_parts(5, root.scale() + 1).unwrap();
        let (low, high) = (root.sub(&half).unwrap(), root.add(&half).unwrap());
        prop_assert!(low.is_negative() || low.mul(&low).unwrap() <= x);
        prop_assert!(high.mul(&high).unwrap() >= x);
    }

    #[test]
    fn rounding_agrees_with_bigdecimal(a in any_decimal(), scale in 0i64..20) {
        let expected = reference(&a).with_scale_round(scale, bigdecimal::RoundingMode::HalfUp);
        let rounded = n(&a).round(scale as i32).unwrap();
        prop_assert!(same(&rounded, &expected), "{} for {}", rounded, expected);
        let expected = reference(&a).with_scale_round(scale, bigdecimal::RoundingMode::Down);
        prop_assert!(same(&n(&a).trunc(scale as i32).unwrap(), &expected));
        let expected = reference(&a).with_scale_round(0, bigdecimal::RoundingMode::Floor);
        prop_assert!(same(&n(&a).floor().unwrap(), &expected));
        let expected = reference(&a).with_scale_round(0, bigdecimal::RoundingMode::Ceiling);
        prop_assert!(same(&n(&a).ceil().unwrap(), &expected));
    }

    #[test]
    fn equal_values_hash_alike_whatever_their_scale(a in any_decimal(), zeros in 0usize..25) {
        let text = if a.contains('.') { a.clone() } else { format!("{a}.") };
        let padded = n(&format!("{text}{}", "0".repeat(zeros)));
        prop_assert_eq!(&n(&a), &padded);
        prop_assert_eq!(hash(&n(&a)), hash(&padded));
        prop_assert_eq!(n(&a).is_integral(), padded.is_integral());
    }

    #[test]
    fn text_and_stored_form_keep_value_and_scale(a in any_decimal()) {
        let x = n(&a);
        prop_assert_eq!(n(&x.to_string()).to_string(), x.to_string());
        let back = Numeric::from_bytes(&x.to_bytes()).unwrap();
        prop_assert_eq!(back.to_string(), x.to_string());
        prop_assert_eq!(x.to_f64(), x.to_string().parse::<f64>().unwrap());
    }

    #[test]
    fn whatever_bytes_are_read_are_written_again(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Some(x) = Numeric::from_bytes(&bytes) {
            prop_assert_eq!(x.to_bytes(), bytes);
        }
    }

    #[test]
    fn any_text_is_a_number_or_refused(text in "[-+.eE0-9nNaAiIfF ]{0,12}") {
        if let Ok(x) = Numeric::parse(&text) {
            prop_assert_eq!(n(&x.to_string()), x);
        }
    }

    /// ln and exp undo each other to the digits that both print.
    #[test]
    fn logarithm_and_exponential_are_inverse(mantissa in 1i64..1_000_000_000, scale in 0u16..9) {
        let x = Numeric::from_parts(i128::from(mantissa), scale).unwrap();
        let back = x.ln().unwrap().exp().unwrap();
        let error = back.sub(&x).unwrap().abs();
        prop_assert!(error <= x.mul(&n("1e-13")).unwrap(), "{} came back as {}", x, back);
    }
}
