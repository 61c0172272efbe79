//! Every network decomposes, and every kernel and the chain are verified.

use decompose::conform::verdict::Word;
use decompose::fuse::Level;
use decompose::pipeline::{self, Cancel, Options, Silent};
use prost::Message;

use super::nets::{NETS, Net};

fn verify(net: &Net, fuse: Level) -> Result<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join(format!("light_{}.onnx", net.name));
    std::fs::write(&model, net.model().encode_to_vec()).unwrap();
    let options = Options { model, fuse, output: Some(folder.path().join("suite")), jobs: 2, ..Options::default() };
    let shown = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join("\n");
    let report = pipeline::decompose(&options, &Silent, &Cancel::default())
        .map_err(|found| shown(&mut found.iter().map(|d| d.to_string())))?;
    let findings = shown(&mut report.diagnostics().map(|d| format!("{d} {:?}", d.place)));
    if !findings.is_empty() {
        return Err(findings);
    }
    let chain = report.chain.as_ref().ok_or("the chain did not run")?;
    if !report.fully_verified() || chain.word != Word::Verified || chain.launches != report.layers.len() {
        return Err(format!("not fully verified: {}", chain.summary()));
    }
    Ok(report.layers.len())
}

fn all_verified(fuse: Level, level: usize) {
    let wrong: Vec<String> = NETS
        .iter()
        .filter_map(|net| match verify(net, fuse) {
            Ok(launches) if launches == net.launches[level] => None,
            Ok(launches) => Some(format!("{}: {launches} launches", net.name)),
            Err(why) => Some(format!("{}: {why}", net.name)),
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unfused_networks_are_verified() {
    all_verified(Level::None, 0);
}

#[test]
fn fused_networks_are_verified() {
    all_verified(Level::Basic, 1);
}
