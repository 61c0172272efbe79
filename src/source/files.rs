//! Files as they are read everywhere: regular ones alone, whole, up to a limit.
//!
//! A pipe waits for whoever writes to it, and a device may never end; neither is anybody's model, suite or kernel.
//! The kind is asked for before a file is opened (to open a pipe is to wait), and its length bounds what is read.
//!
//! Not caught: a file that becomes a pipe between the question and the opening.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Bytes of a text (a kernel, `run.py`, a manifest) above which it is refused.
pub const LARGEST_TEXT: u64 = 1 << 28;

/// What is said of a pipe, a device, a socket or a folder.
const IRREGULAR: &str = "it is no regular file";

/// The content of a file of at most `limit` bytes.
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidInput`] for what is no regular file, and
/// [`io::ErrorKind::FileTooLarge`].
pub fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, IRREGULAR));
    }
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
    if found.len() > limit {
        return Err(too_large());
    }
    let mut content = Vec::new();
    content.try_reserve_exact(found.len() as usize)?;
    // Files of /proc say that they are empty.
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}

/// The text of a file of at most [`LARGEST_TEXT`] bytes.
///
/// # Errors
/// As [`bytes`]; [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    let content = bytes(path, LARGEST_TEXT)?;
    String::from_utf8(content).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8: {error}")))
}

/// [`digest`] of a file, which may be larger than memory.
pub fn digest_of(path: &Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    std::io::copy(&mut std::fs::File::open(path)?, &mut hash)?;
    Ok(hexadecimal(&hash.finalize()))
}

/// The SHA-256 of a file's bytes, in hex.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "abc").unwrap();
        assert_eq!(bytes(&file, 3).unwrap(), b"abc");
        assert_eq!(bytes(&file, 2).unwrap_err().to_string(), "it has more than 2 bytes");
        assert_eq!(text(&file).unwrap(), "abc");
        assert_eq!(text(folder.path()).unwrap_err().to_string(), IRREGULAR);
        assert_eq!(text(&folder.path().join("b")).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&file, [0xff]).unwrap();
        assert!(text(&file).unwrap_err().to_string().starts_with("it is not UTF-8"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_sockets_are_refused_at_once_also_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let socket = folder.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [link.as_path(), Path::new("/dev/zero"), socket.as_path()] {
            assert_eq!(bytes(path, 1 << 10).unwrap_err().to_string(), IRREGULAR);
        }
    }
}
