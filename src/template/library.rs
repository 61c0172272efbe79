//! The templates there are: the embedded ones, and a user's folder of them.
//!
//! Reading joins a folder's three files and checks that they fit: launches name entries of
//! `kernel.py` that have a looped form, anchors name operands and axes of the manifest, every input
//! has a load anchor and the output a store anchor.

use std::path::Path;
use std::sync::Arc;

use include_dir::{Dir, include_dir};

use super::anchors::Site;
use super::kernel_file::KernelFile;
use super::manifest::{Manifest, OperandSpec};
use super::schedule::{self, ScheduleEntry};
use super::step::scalar;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::expr::Expr;
use crate::source::{SourceFile, files};
use crate::syntax::yaml;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/operator_templates");

/// One operator template.
#[derive(Debug)]
pub struct Template {
    /// The folder's name.
    pub name: String,
    pub manifest: Manifest,
    pub schedule: Vec<ScheduleEntry>,
    pub schedule_file: Arc<SourceFile>,
    pub kernel: KernelFile,
}

/// Templates in order of preference.
#[derive(Clone, Debug, Default)]
pub struct Library {
    templates: Vec<Arc<Template>>,
}

impl Library {
    /// The templates that the binary carries.
    pub fn embedded() -> Result<Library> {
        let mut templates = Vec::new();
        for dir in EMBEDDED.dirs() {
            let name = dir.path().display().to_string();
            let read = |file: &str| {
                let path = dir.path().join(file);
                let text = EMBEDDED
                    .get_file(&path)
                    .and_then(|f| f.contents_utf8())
                    .ok_or_else(|| unusable(&path, &std::io::ErrorKind::NotFound.into()))?;
                Ok(SourceFile::new(format!("operator_templates/{}", path.display()), text))
            };
            templates.push(Arc::new(Template::read(&name, read)?));
        }
        templates.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Library { templates })
    }

    /// One template alone.
    pub fn only(template: &Arc<Template>) -> Library {
        Library { templates: vec![template.clone()] }
    }

    /// These templates behind those of a user's folder, which win by name and by preference.
    pub fn with_folder(self, folder: &Path) -> Result<Library> {
        let unreadable = |error: std::io::Error| {
            Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, error.to_string()).in_file(folder.display().to_string()))
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if entry.path().is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        if names.is_empty() || folder.join("kernel.py").exists() {
            let message = format!("no template in {}", folder.display());
            let help = "a template is a folder DIR/<name>/ with kernel.py, template.yaml, schedule.yaml";
            return Err(Box::new(Diagnostic::new(&codes::TEMPLATE_INVALID, message).help(help)));
        }
        let mut templates = Vec::new();
        for name in names {
            templates.push(Library::folder(&folder.join(name))?);
        }
        let rest = self.templates.into_iter().filter(|t| !templates.iter().any(|mine| mine.name == t.name)).collect::<Vec<_>>();
        templates.extend(rest);
        Ok(Library { templates })
    }

    /// The template whose three files lie in a folder; it has the folder's name.
    pub fn folder(folder: &Path) -> Result<Arc<Template>> {
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let read = |file: &str| {
            let path = folder.join(file);
            let text = files::text(&path).map_err(|error| unusable(&path, &error))?;
            Ok(SourceFile::new(path.display().to_string(), text))
        };
        Ok(Arc::new(Template::read(&name, read)?))
    }

    pub fn templates(&self) -> &[Arc<Template>] {
        &self.templates
    }

    /// By folder name or alias.
    pub fn find(&self, name: &str) -> Option<&Arc<Template>> {
        let by_name = self.templates.iter().find(|t| t.name == name);
        by_name.or_else(|| self.templates.iter().find(|t| t.manifest.aliases.iter().any(|a| a == name)))
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    use std::io::ErrorKind::{InvalidData, NotFound};
    let what = match error.kind() {
        NotFound | InvalidData => "this file of a template is missing or no UTF-8 text".to_owned(),
        _ => format!("this file of a template cannot be read: {error}"),
    };
    Box::new(
        Diagnostic::new(&codes::TEMPLATE_INVALID, what)
            .in_file(path.display().to_string())
            .help("a template is a folder with kernel.py, template.yaml and schedule.yaml"),
    )
}

impl Template {
    /// Whether there is an anchor at which code is applied to the output's elements.
    pub fn takes_epilogues(&self) -> bool {
        self.kernel.anchors.iter().any(|anchor| matches!(anchor.site, Site::Value { .. }))
    }

    /// The body of the Maps that it computes, over operands of one dtype; `None` for other templates.
    pub fn body(&self, dtype: DType) -> Result<Option<Expr>> {
        let names: Vec<(&str, DType)> = self.manifest.inputs().iter().map(|o| (o.name.as_str(), dtype)).collect();
        self.manifest.body.first().map(|body| scalar(body, &names)).transpose()
    }

    fn read(name: &str, read: impl Fn(&str) -> Result<Arc<SourceFile>>) -> Result<Template> {
        let kernel = KernelFile::parse(&read("kernel.py")?)?;
        let manifest = Manifest::parse(&yaml::parse(&read("template.yaml")?)?)?;
        let schedule_file = read("schedule.yaml")?;
        let schedule = schedule::parse(&yaml::parse(&schedule_file)?)?;
        let template = Template { name: name.to_owned(), manifest, schedule, schedule_file, kernel };
        template.check()?;
        Ok(template)
    }

    fn check(&self) -> Result<()> {
        let (manifest, kernel) = (&self.manifest, &self.kernel);
        let mut entries = Vec::new();
        for launch in &manifest.launches {
            for entry in [launch.kernel.clone(), format!("{}_loop", launch.kernel)] {
                if kernel.function(&entry).is_none() {
                    let message = format!("kernel.py has no function `{entry}`");
                    let error = Diagnostic::new(&codes::TEMPLATE_INVALID, message).at(&manifest.file, launch.kernel_span);
                    return Err(Box::new(error.help("a launch needs an entry and its looped form, `<kernel>_loop`")));
                }
                entries.push(entry);
            }
        }
        for anchor in &kernel.anchors {
            let at =
                |message: String| Box::new(Diagnostic::new(&codes::TEMPLATE_INVALID, message).at(&kernel.file, anchor.lines));
            let spec: &OperandSpec = match &anchor.site {
                Site::Params | Site::Args => continue,
                Site::Load { .. } => manifest
                    .inputs()
                    .iter()
                    .find(|o| o.name == anchor.name)
                    .ok_or_else(|| at(format!("`{}` is no input in template.yaml's access", anchor.name)))?,
                Site::Store { .. } if anchor.name != manifest.output().name => {
                    return Err(at(format!("`{}` is not the output `{}`", anchor.name, manifest.output().name)));
                }
                Site::Store { .. } | Site::Value { .. } | Site::Body { .. } => manifest.output(),
            };
            let wanted: Vec<&str> = spec.dims.iter().map(|d| d.name.as_str()).collect();
            let given: Vec<&str> = anchor.coords.iter().map(|c| c.axis.as_str()).collect();
            if wanted != given {
                return Err(at(format!("coordinates {} where {} has {}", given.join(", "), spec.name, wanted.join(", "))));
            }
        }
        let reached = kernel.reached(&entries.iter().map(String::as_str).collect::<Vec<_>>());
        let has = |name: &str, store: bool| {
            kernel.anchors.iter().any(|a| {
                a.name == name
                    && matches!(a.site, Site::Store { .. }) == store
                    && reached.iter().any(|f| f.span.start <= a.lines.start && a.lines.end <= f.span.end)
            })
        };
        for input in manifest.inputs() {
            if !has(&input.name, false) {
                return Err(kernel.invalid(format!("no `# fuse: load {} at …` anchor", input.name)));
            }
        }
        if !has(&manifest.output().name, true) {
            return Err(kernel.invalid(format!("no `# fuse: store {} at …` anchor", manifest.output().name)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_templates_are_sound() {
        let library = Library::embedded().unwrap();
        let names: Vec<&str> = library.templates().iter().map(|t| t.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "adaptive_avgpool1d",
                "adaptive_avgpool2d",
                "adaptive_avgpool3d",
                "add",
                "argreduce",
                "avgpool1d",
                "avgpool2d",
                "avgpool3d",
                "batchnorm2d",
                "conv1d",
                "conv2d_resnet",
                "conv3d",
                "conv_transpose1d",
                "conv_transpose2d",
                "conv_transpose3d",
                "cumprod",
                "cumsum",
                "layernorm",
                "log_softmax",
                "logsumexp",
                "lrn",
                "map",
                "matmul",
                "maxpool1d",
                "maxpool2d",
                "maxpool3d",
                "reduce_max",
                "reduce_mean",
                "reduce_min",
                "reduce_prod",
                "reduce_sum",
                "relu",
                "rmsnorm",
                "softmax"
            ]
        );
        assert_eq!(library.find("gemm").unwrap().name, "matmul");
    }
}
