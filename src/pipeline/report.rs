//! What one run found out, as data; `cli` prints it as a table or as JSON.

use std::path::PathBuf;

use crate::conform::chain::ChainReport;
use crate::conform::given::OnData;
use crate::conform::verdict::{Verdict, Word};
use crate::diag::Diagnostic;

use super::seeds::Seeds;

/// One launch of the suite, in order.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The anchor's source node.
    pub layer: String,
    /// Every source node that the launch computes, with its framework's operator: (node, operator).
    pub sources: Vec<(String, String)>,
    pub template: String,
    /// The kernel's file in the suite.
    pub kernel: String,
    /// The output's shape.
    pub shape: Vec<usize>,
    /// As the wrapper launches it.
    pub grid: Option<[u32; 3]>,
    /// Into [`Report::verdicts`].
    pub verdict: usize,
    /// Whether the run was asked about it (`--only`); tables leave the others out.
    pub asked: bool,
}

/// Everything that a run has to say.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub model: String,
    /// Where the suite, or the file that answers a task, was written or read.
    pub suite: Option<PathBuf>,
    pub layers: Vec<Layer>,
    /// One a kernel, or one a launch when each was verified.
    pub verdicts: Vec<Verdict>,
    /// How many distinct kernels the suite has.
    pub kernels: usize,
    /// Buffers of `run.py` and their bytes in all.
    pub buffers: (usize, u64),
    pub chain: Option<ChainReport>,
    /// On a user's own arrays.
    pub on_data: Option<OnData>,
    /// What the inputs were derived from.
    pub seeds: Seeds,
    /// What the suite does not compute: nodes by their own names, or what import said of them.
    pub missing: Vec<String>,
    /// What is wrong or missing besides the verdicts.
    pub problems: Vec<Diagnostic>,
    /// What a reader should know: replaced weights, views, skipped verification.
    pub notes: Vec<String>,
}

impl Report {
    /// Every finding: problems, then the diagnostics of the verdicts, the chain, and the run on given data.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let chain = self.chain.iter().flat_map(|c| &c.diagnostics);
        let on_data = self.on_data.iter().flat_map(|d| &d.diagnostics);
        self.problems.iter().chain(self.verdicts.iter().flat_map(|v| &v.diagnostics)).chain(chain).chain(on_data)
    }

    /// Whether every kernel and the chain were verified in full.
    pub fn fully_verified(&self) -> bool {
        self.not_verified().is_empty()
    }

    /// What is not verified in full, a phrase each.
    pub fn not_verified(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let left_out = self.layers.iter().filter(|layer| !layer.asked).count();
        if left_out > 0 {
            reasons.push(format!("--only leaves {left_out} of {} launches out", self.layers.len()));
        }
        let mut words: Vec<Word> = self.layers.iter().filter(|l| l.asked).map(|l| self.verdicts[l.verdict].word).collect();
        words.retain(|&word| word != Word::Verified);
        if let Some(&first) = words.first() {
            let same = words.iter().all(|&word| word == first);
            let what = if same { first.as_str() } else { "not verified" };
            reasons.push(format!("{} of {} launches {what}", words.len(), self.layers.len()));
        }
        match &self.chain {
            Some(chain) if chain.word == Word::Verified => {}
            Some(chain) => reasons.push(format!("the chain is {}", chain.word.as_str())),
            None if left_out > 0 => {}
            None => reasons.push("the model as a whole did not run".to_owned()),
        }
        if let Some(data) = self.on_data.as_ref().filter(|data| data.word != Word::Verified) {
            reasons.push(format!("on the given data it is {}", data.word.as_str()));
        }
        match self.problems.iter().filter(|problem| problem.is_error()).count() {
            0 => {}
            1 => reasons.push("1 problem".to_owned()),
            n => reasons.push(format!("{n} problems")),
        }
        reasons
    }
}
