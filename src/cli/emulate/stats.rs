//! Performance facts of a run as text and JSON.

use serde_json::{Value, json};

use super::super::table::{Align, render};
use crate::emulate::stats::Traffic;
use crate::pipeline::emulate::stats::Facts;

pub fn text(facts: &Facts) -> String {
    let columns = [
        ("operand", Align::Left),
        ("access", Align::Left),
        ("bytes", Align::Right),
        ("unique", Align::Right),
        ("reuse", Align::Right),
        ("requests", Align::Right),
        ("sectors/request", Align::Right),
        ("masked", Align::Right),
    ];
    let row = |(name, store, t): &(String, bool, Traffic)| {
        vec![
            name.clone(),
            if *store { "store" } else { "load" }.to_owned(),
            t.bytes.to_string(),
            t.unique_bytes.to_string(),
            format!("{:.2}", reuse(t)),
            t.requests.to_string(),
            format!("{:.2}", per_request(t)),
            format!("{:.1} %", masked(t) * 100.0),
        ]
    };
    let mut text = render(&columns, &facts.traffic.iter().map(row).collect::<Vec<_>>());
    text += &format!("FLOPs: {}; {:.3} a unique byte\n", facts.flops.total(), facts.intensity);
    let room: Vec<String> =
        facts.room.iter().map(|(name, bytes)| format!("{:.0} % of {name} ({bytes})", share(facts.live_bytes, *bytes))).collect();
    text += &format!("live block bytes a program: {}, {} of {}\n", facts.live_bytes, room.join(", "), facts.target.name);
    text += &match facts.roofline {
        Some((seconds, bound)) => format!("roofline on {}: {:.3} µs, bound by {bound}\n", facts.target.name, seconds * 1e6),
        None => format!("roofline on {}: its peaks are not known\n", facts.target.name),
    };
    text
}

fn share(bytes: usize, room: usize) -> f64 {
    bytes as f64 * 100.0 / room.max(1) as f64
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn reuse(t: &Traffic) -> f64 {
    ratio(t.bytes, t.unique_bytes)
}

fn per_request(t: &Traffic) -> f64 {
    ratio(t.sectors, t.requests)
}

fn masked(t: &Traffic) -> f64 {
    ratio(t.lanes - t.active, t.lanes)
}

pub fn json(facts: &Facts) -> Value {
    let operand = |(name, store, t): &(String, bool, Traffic)| {
        json!({
            "operand": name, "access": if *store { "store" } else { "load" }, "bytes": t.bytes, "unique_bytes": t.unique_bytes,
            "reuse": reuse(t), "requests": t.requests, "sectors": t.sectors, "sectors_per_request": per_request(t),
            "lanes": t.lanes, "masked_share": masked(t),
        })
    };
    let flops = facts.flops;
    json!({
        "operands": facts.traffic.iter().map(operand).collect::<Vec<_>>(),
        "flops": {"total": flops.total(), "fp32": flops.fp32, "tf32": flops.tf32, "half": flops.half, "fp64": flops.fp64},
        "flops_per_unique_byte": facts.intensity, "live_block_bytes": facts.live_bytes, "target": facts.target.name,
        "room": facts.room.iter().map(|(name, bytes)| json!({"memory": name, "bytes": bytes})).collect::<Vec<_>>(),
        "roofline_seconds": facts.roofline.map(|(seconds, _)| seconds), "bound_by": facts.roofline.map(|(_, bound)| bound),
    })
}
