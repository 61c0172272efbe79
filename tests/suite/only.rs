//! `--only`: names, operators and beginnings of names; what names nothing is answered with what was meant.

use decompose::pipeline::Report;

use crate::support::{kernel_file, small_suite, verification};

/// The layers that a filter names.
fn asked(report: &Report) -> Vec<&str> {
    report.layers.iter().filter(|layer| layer.asked).map(|layer| layer.layer.as_str()).collect()
}

#[test]
fn launches_are_named_in_many_ways() {
    let (_guard, suite) = small_suite();
    let file = kernel_file(&suite, "maxpool2d").file_name().unwrap().to_string_lossy().into_owned();
    let stem = file.trim_end_matches(".py");
    let path = format!("kernels/{file}");
    // The pool's only node is `y`; the convolution computes `c` and `r`.
    for filter in ["y", "maxpool2d", "MaxPool", "maxpool", "max", &file, stem, &stem[..14], &path, &path[..20]] {
        let report = verification(&suite, Some(filter)).unwrap_or_else(|found| panic!("{filter}: {}", found[0]));
        assert_eq!(asked(&report), ["y"], "{filter}");
    }
    for filter in ["c", "r", "Conv", "conv", "conv2d_resnet", "Relu", "RELU"] {
        let report = verification(&suite, Some(filter)).unwrap_or_else(|found| panic!("{filter}: {}", found[0]));
        assert_eq!(asked(&report), ["c"], "{filter}");
    }
}

#[test]
fn what_names_nothing_is_answered_by_what_was_meant() {
    let (_guard, suite) = small_suite();
    let refused = |filter: &str| {
        let found = verification(&suite, Some(filter)).unwrap_err().remove(0);
        assert_eq!(found.code.id, "U001");
        (found.message.clone(), found.help.clone().unwrap_or_default(), found.notes.join("\n"))
    };
    let (message, help, kernels) = refused("maxpol2d");
    assert!(message.starts_with("--only `maxpol2d` names nothing in "), "{message}");
    assert!(help.starts_with("did you mean `maxpool2d`?"), "{help}");
    assert!(kernels.contains("kernels/conv2d_resnet__") && kernels.contains("kernels/maxpool2d__"), "{kernels}");
    assert!(refused("entirely different").1.starts_with("name a kernel's file"));
    assert!(refused("").0.contains("names nothing"));
    // The beginning of both kernels' files.
    let (message, help, _) = refused("kernels/");
    assert!(
        message.contains("is the beginning of 2 names") && help.starts_with("name one of: kernels/conv2d_resnet__"),
        "{help}"
    );
}
