//! Tests of partitions and subscenes.

use super::*;

#[test]
fn info_cuts_a_scene_into_cells() {
    let folder = folder();
    let partition = |arguments: &[&str]| {
        let info = json(&run(&folder, &[&["info", "builtin:two_rooms", "--json", "--partition"], arguments].concat()));
        info["partition"].clone()
    };
    for (kind, count, cells) in [("uniform", "12", 12), ("balanced", "16", 16), ("hybrid", "30", 29)] {
        let found = partition(&[kind, "--count", count]);
        assert_eq!(found["kind"], kind);
        assert_eq!(found["cells"], cells);
        assert!(found["neighbours"].as_f64().is_some_and(|neighbors| (3.0..12.0).contains(&neighbors)), "{found}");
        assert_eq!(found["loads"].as_array().unwrap().len(), cells);
    }
    let balanced = partition(&["balanced", "--count", "16", "--paths", "1000"]);
    assert!(balanced["sigma"].as_f64().unwrap() < 0.01, "{balanced}");
    assert!(balanced["traffic"]["crossings_per_ray"].as_f64().unwrap() > 0.1, "{balanced}");
    let by_power = partition(&["balanced", "--count", "2", "--factor", "power", "--axis", "middle"]);
    assert!(by_power["sigma"].as_f64().unwrap() < 0.01, "{by_power}");
    // Ranks find the light that one finds.
    let [alone, together] =
        ["1", "8"].map(|count| partition(&["balanced", "--count", count, "--ranks"])["ranks"].clone());
    for key in ["bounces", "rays"] {
        assert_eq!(alone[key], together[key], "{key}");
    }
    let powers = [&alone, &together].map(|ranks| ranks["power"].as_f64().unwrap());
    assert!((powers[1] / powers[0] - 1.0).abs() < 1e-9 && powers[0] > 0.0, "{powers:?}");
    assert_eq!(alone["packets"], 0);
    assert!(together["packets"].as_u64() > together["complete_packets"].as_u64(), "{together}");
    let text = run(&folder, &["info", "builtin:two_rooms", "--partition", "uniform", "--count", "3"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("uniform, 3 cells, sigma "));
}

#[test]
fn counts_that_a_partition_cannot_have_are_said() {
    let folder = folder();
    let complaint =
        |arguments: &[&str]| complaint(&folder, &[&["info", "builtin:furnace", "--partition"], arguments].concat());
    assert!(complaint(&["balanced", "--count", "12"]).contains("ask for 8 or 16"));
    assert!(complaint(&["hybrid", "--count", "5"]).contains("ask for 8 or more"));
    assert!(complaint(&["uniform", "--count", "0"]).contains("ask for 1 or more"));
    assert!(complaint(&["uniform", "--count", "1000000"]).contains("ask for 65536 or fewer"));
    assert!(complaint(&["uniform", "--count", "65", "--ranks"]).contains("ask for 64 or fewer"));
    let usage = run(&folder, &["info", "builtin:furnace", "--count", "8"]);
    assert_eq!(usage.status.code(), Some(2));
    let usage = run(&folder, &["info", "builtin:furnace", "--partition", "uniform", "--paths", "4000000000"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("4000000000 is not in 1..=1000000"));
}

#[test]
fn subscenes_that_cannot_be_are_refused_in_one_sentence() {
    let folder = folder();
    let refused =
        |arguments: &[&str]| complaint(&folder, &[&["bake", "builtin:cornell_box", "--subscenes"], arguments].concat());
    assert!(refused(&["4"]).contains("only the methods progressive and counted"));
    for option in [&["--ranks"][..], &["--mask-cells", "8"]] {
        let counted = refused(&[&["4", "--method", "counted"], option].concat());
        assert!(counted.contains("counted rays need no masks, and have no ranks"), "{counted}");
    }
    let progressive = |arguments: &[&'static str]| refused(&[arguments, &["--method", "progressive"]].concat());
    assert!(progressive(&["0"]).contains("0 cells"));
    assert!(progressive(&["6", "--partition", "balanced"]).contains("ask for 4 or 8"));
    assert!(progressive(&["4", "--mask-cells", "0"]).contains("0 x 0"));
    assert!(progressive(&["4", "--mask-cells", "4000000000"]).contains("ask for 1 to 256"));
}
