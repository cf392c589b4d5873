//! Which functions read and write the values of a type, as `pg_type` names them.
//!
//! Relies on: PostgreSQL's fixed numbers.  Promises: what `pg_proc` lists.  Does not: run such functions; nobody
//! can call them.

use super::oid;
use quintet_base::Value;

/// Type, then the functions that read and write its text, that receive and send it, that read and write its modifier.
const OWN: &[(u32, u32, u32, u32, u32, u32, u32)] = &[
    (16, 1242, 1243, 2436, 2437, 0, 0),
    (17, 1244, 31, 2412, 2413, 0, 0),
    (18, 1245, 33, 2434, 2435, 0, 0),
    (19, 34, 35, 2422, 2423, 0, 0),
    (20, 460, 461, 2408, 2409, 0, 0),
    (21, 38, 39, 2404, 2405, 0, 0),
    (22, 40, 41, 2410, 2411, 0, 0),
    (23, 42, 43, 2406, 2407, 0, 0),
    (24, 44, 45, 2444, 2445, 0, 0),
    (25, 46, 47, 2414, 2415, 0, 0),
    (26, 1798, 1799, 2418, 2419, 0, 0),
    (27, 48, 49, 2438, 2439, 0, 0),
    (28, 50, 51, 2440, 2441, 0, 0),
    (30, 54, 55, 2420, 2421, 0, 0),
    (114, 321, 322, 323, 324, 0, 0),
    (600, 117, 118, 2428, 2429, 0, 0),
    (601, 119, 120, 2480, 2481, 0, 0),
    (602, 121, 122, 2482, 2483, 0, 0),
    (603, 123, 124, 2484, 2485, 0, 0),
    (604, 347, 348, 2486, 2487, 0, 0),
    (628, 1490, 1491, 2488, 2489, 0, 0),
    (650, 1267, 1427, 2498, 2499, 0, 0),
    (700, 200, 201, 2424, 2425, 0, 0),
    (701, 214, 215, 2426, 2427, 0, 0),
    (705, 109, 110, 2416, 2417, 0, 0),
    (718, 1450, 1451, 2490, 2491, 0, 0),
    (790, 886, 887, 2492, 2493, 0, 0),
    (829, 436, 437, 2494, 2495, 0, 0),
    (869, 910, 911, 2496, 2497, 0, 0),
    (1042, 1044, 1045, 2430, 2431, 2913, 2914),
    (1043, 1046, 1047, 2432, 2433, 2915, 2916),
    (1082, 1084, 1085, 2468, 2469, 0, 0),
    (1083, 1143, 1144, 2470, 2471, 2909, 2910),
    (1114, 1312, 1313, 2474, 2475, 2905, 2906),
    (1184, 1150, 1151, 2476, 2477, 2907, 2908),
    (1186, 1160, 1161, 2478, 2479, 2903, 2904),
    (1266, 1350, 1351, 2472, 2473, 2911, 2912),
    (1560, 1564, 1565, 2456, 2457, 2919, 2920),
    (1562, 1579, 1580, 2458, 2459, 2902, 2921),
    (1700, 1701, 1702, 2460, 2461, 2917, 2918),
    (2202, 2212, 2213, 2446, 2447, 0, 0),
    (2203, 2214, 2215, 2448, 2449, 0, 0),
    (2204, 2216, 2217, 2450, 2451, 0, 0),
    (2205, 2218, 2219, 2452, 2453, 0, 0),
    (2206, 2220, 2221, 2454, 2455, 0, 0),
    (2249, 2290, 2291, 2402, 2403, 0, 0),
    (2275, 2292, 2293, 2500, 2501, 0, 0),
    (2276, 2294, 2295, 0, 0, 0, 0),
    (2277, 2296, 2297, 2502, 2503, 0, 0),
    (2278, 2298, 2299, 3120, 3121, 0, 0),
    (2279, 2300, 2301, 0, 0, 0, 0),
    (2281, 2304, 2305, 0, 0, 0, 0),
    (2283, 2312, 2313, 0, 0, 0, 0),
    (2776, 2777, 2778, 0, 0, 0, 0),
    (2950, 2952, 2953, 2961, 2962, 0, 0),
    (3500, 3504, 3505, 0, 0, 0, 0),
    (3614, 3610, 3611, 3639, 3638, 0, 0),
    (3615, 3612, 3613, 3641, 3640, 0, 0),
    (3734, 3736, 3737, 3738, 3739, 0, 0),
    (3769, 3771, 3772, 3773, 3774, 0, 0),
    (3802, 3806, 3804, 3805, 3803, 0, 0),
    (3831, 3832, 3833, 0, 0, 0, 0),
    (4072, 4001, 4003, 4002, 4004, 0, 0),
    (4089, 4084, 4085, 4087, 4088, 0, 0),
    (4096, 4098, 4092, 4094, 4095, 0, 0),
    (4537, 4229, 4230, 0, 0, 0, 0),
    (4538, 4226, 4227, 0, 0, 0, 0),
    (5077, 5086, 5087, 0, 0, 0, 0),
    (5078, 5088, 5089, 5090, 5091, 0, 0),
    (5079, 5092, 5093, 0, 0, 0, 0),
    (5080, 5094, 5095, 0, 0, 0, 0),
    (
        CITEXT,
        268_435_520,
        268_435_521,
        268_435_522,
        268_435_523,
        0,
        0,
    ),
    (
        HSTORE,
        268_435_524,
        268_435_525,
        268_435_526,
        268_435_527,
        0,
        0,
    ),
];
/// The numbers of types of extensions.
const CITEXT: u32 = 1 << 28;
const HSTORE: u32 = CITEXT + 2;
const RANGE: [u32; 4] = [3834, 3835, 3836, 3837];
const RANGE_ANALYZES: u32 = 3916;
const MULTIRANGE: [u32; 4] = [4231, 4232, 4233, 4234];
const MULTIRANGE_ANALYZES: u32 = 4242;
const ENUM: [u32; 4] = [3506, 3507, 3532, 3533];
const RECORD: [u32; 4] = [2290, 2291, 2402, 2403];
const ARRAY: [u32; 4] = [750, 751, 2400, 2401];
/// A domain's values are written as its base type's are.
const DOMAIN_READS: (u32, u32) = (2597, 2598);
const ARRAY_ANALYZES: u32 = 3816;
const ARRAY_SUBSCRIPTS: u32 = 6179;
const VECTORS: [u32; 2] = [22, 30];

/// What a type's row of `pg_type` says of it.
pub(super) struct Described<'v> {
    pub number: u32,
    pub kind: &'v str,
    pub element: u32,
    pub base: u32,
}

fn own(number: u32) -> [u32; 6] {
    let found = OWN.iter().find(|known| known.0 == number);
    found.map_or([0; 6], |&(_, a, b, c, d, e, f)| [a, b, c, d, e, f])
}

/// The functions of a type: `typinput`, `typoutput`, `typreceive`, `typsend`, `typmodin`, `typmodout`, `typanalyze`,
/// `typsubscript`.
pub(super) fn functions(ty: &Described) -> [Value; 8] {
    let with = |[a, b, c, d]: [u32; 4], [e, f]: [u32; 2], analyzes, subscripts| {
        [a, b, c, d, e, f, analyzes, subscripts].map(oid)
    };
    let is_vector = VECTORS.contains(&ty.number);
    match ty.kind {
        "e" => with(ENUM, [0, 0], 0, 0),
        "r" => with(RANGE, [0, 0], RANGE_ANALYZES, 0),
        "m" => with(MULTIRANGE, [0, 0], MULTIRANGE_ANALYZES, 0),
        "c" => with(RECORD, [0, 0], 0, 0),
        "d" => {
            let [_, output, _, send, ..] = own(ty.base);
            let (input, receive) = DOMAIN_READS;
            with([input, output, receive, send], [0, 0], 0, 0)
        }
        _ if ty.element != 0 && own(ty.number)[0] == 0 => {
            let [.., read, write] = own(ty.element);
            with(ARRAY, [read, write], ARRAY_ANALYZES, ARRAY_SUBSCRIPTS)
        }
        _ => {
            let [a, b, c, d, e, f] = own(ty.number);
            let subscripts = match ty.number {
                19 | 600 | 601 | 603 | 628 => 6180,
                3802 => 6098,
                HSTORE => 268_435_528,
                _ if is_vector => ARRAY_SUBSCRIPTS,
                _ => 0,
            };
            with([a, b, c, d], [e, f], 0, subscripts)
        }
    }
}
