//! Runs a compiler so that it cannot hang us, flood us or litter.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::ToolchainError;

/// How much of a compiler's output is kept; the first error is what matters.
const MAX_OUTPUT: u64 = 8 << 10;

/// A process that ended.
pub(super) struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A private directory that goes away with everything in it.
pub(super) fn scratch_dir() -> Result<TempDir, ToolchainError> {
    tempfile::Builder::new()
        .prefix("tensorjit-")
        .tempdir()
        .map_err(|e| ToolchainError::io("make a directory in", &std::env::temp_dir(), &e))
}

/// Writes `source` where it stays for the user to look at.
pub(super) fn keep_source(source: &str) -> Result<PathBuf, ToolchainError> {
    let dir = std::env::temp_dir();
    let keep = || {
        let mut file = tempfile::Builder::new().prefix("tensorjit-failed-").suffix(".c").tempfile_in(&dir)?;
        file.write_all(source.as_bytes())?;
        Ok(file.keep()?.1)
    };
    keep().map_err(|e| ToolchainError::io("keep the text in", &dir, &e))
}

/// The command as one line.
pub(super) fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs `command` to its end; its temporary files go to `scratch`.
pub(super) fn run(
    mut command: Command,
    scratch: &Path,
    timeout: Duration,
) -> Result<Finished, ToolchainError> {
    let program = PathBuf::from(command.get_program());
    let line = text(&command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("TMPDIR", scratch);
    // A group of its own, so that the passes of a compiler end with its driver.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let deadline = Instant::now() + timeout;
    let mut child = command.spawn().map_err(|e| ToolchainError::io("run", &program, &e))?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let mut said = None;
    loop {
        // The end of its messages comes with its own end and wakes us; or it goes on without them and is polled for.
        match said {
            None => said = stderr.recv_timeout(Duration::from_millis(5)).ok(),
            Some(_) => std::thread::sleep(Duration::from_millis(1)),
        }
        match child.try_wait() {
            Ok(Some(status)) => {
                // A process that it left behind may hold its outputs open; what was said so far is then lost.
                let rest =
                    |r: Receiver<String>| r.recv_timeout(Duration::from_millis(100)).unwrap_or_default();
                return Ok(Finished {
                    status,
                    stdout: rest(stdout),
                    stderr: said.unwrap_or_else(|| rest(stderr)),
                });
            }
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) => {
                stop(&mut child);
                return Err(ToolchainError::Timeout { command: line, seconds: timeout.as_secs() });
            }
            Err(e) => return Err(ToolchainError::io("wait for", &program, &e)),
        }
    }
}

/// Reads a stream on a thread of its own, to its end so that the writer is not disturbed, and keeps the beginning.
fn collect<R: Read + Send + 'static>(stream: Option<R>) -> Receiver<String> {
    let (send, receive) = channel();
    if let Some(mut stream) = stream {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read before an error still says something.
            let _ = stream.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
            let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
        });
    }
    receive
}

/// Ends a process and what it started, as far as the system lets us; the caller reports the timeout whatever happens.
fn stop(child: &mut Child) {
    // The standard library signals single processes only; the shell's tool signals groups.
    if cfg!(unix) {
        let group = format!("-{}", child.id());
        let quiet =
            |c: &mut Command| c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = quiet(Command::new("kill").args(["-KILL", "--", &group]));
    }
    let _ = child.kill();
    let _ = child.wait();
}
