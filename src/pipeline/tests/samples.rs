//! The samples of `layers/*.json` against the reference, which computes whole tensors in another way.

use super::small;
use crate::conform::inputs::{self, Kind};
use crate::conform::sample;
use crate::emit;
use crate::fuse::Level;
use crate::reference::{self, Env, Math, seeded};

#[test]
fn samples_are_elements_of_the_reference() {
    for level in [Level::None, Level::Basic] {
        let plan = small::plan(level);
        let (graph, seed) = (&plan.imported, 7);
        let all = sample::of_plan(&plan, seed, false).unwrap();
        assert_eq!(all.len(), plan.launches.len());
        for (launch, samples) in plan.launches.iter().zip(&all) {
            let (nodes, output) = emit::computed(&plan, launch).unwrap();
            let mut env = Env::new();
            for exact in inputs::generate(graph, &nodes, &graph.entering(&nodes), Kind::Numerics, seed, &mut env).unwrap() {
                env.set(exact, seeded::weight(graph, exact, seed, false).unwrap().tensor());
            }
            reference::evaluate(graph, &nodes, &mut env, Math::F64).unwrap();
            let truth = env.get(output).unwrap().storage();
            assert!(samples.elements.is_sorted() && samples.elements.last() == Some(&(truth.len() - 1)), "{}", launch.layer);
            for (&at, &value) in samples.elements.iter().zip(&samples.values) {
                let expected = f64::from(truth.get_f64(at) as f32);
                // Two orders of summation in f64 may round to neighbours.
                assert!((value - expected).abs() <= f64::from(f32::EPSILON) * expected.abs(), "{} at {at}", launch.layer);
            }
        }
    }
}

#[test]
fn every_layer_has_a_file() {
    let (plan, files) = (small::plan(Level::Basic), small::suite(Level::Basic));
    let layers: Vec<&String> = files.keys().filter(|path| path.starts_with("layers/")).collect();
    assert_eq!(layers.len(), plan.launches.len());
    assert_eq!(layers[0], "layers/000_conv.json");
    for path in layers {
        let layer: serde_json::Value = serde_json::from_slice(&files[path]).unwrap();
        assert!(files.contains_key(layer["kernel"].as_str().unwrap()), "{path}");
        assert!(layer["samples"]["values"].as_array().unwrap().len() >= 5, "{path}");
        assert!(layer["inputs"].as_array().unwrap().iter().all(|input| input["arguments"].is_array()), "{path}");
    }
}
