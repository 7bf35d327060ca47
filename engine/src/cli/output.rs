//! Standard output that may be closed early, as by `| head`.

use std::io::{self, ErrorKind, Stdout, Write};

/// Standard output; once its reader has gone, what is written goes nowhere and the work goes on.
pub struct Output {
    stdout: Stdout,
    is_closed: bool,
}

impl Output {
    /// Standard output, open.
    pub fn new() -> Self {
        Self { stdout: io::stdout(), is_closed: false }
    }

    fn or_closed<T>(&mut self, outcome: io::Result<T>, otherwise: T) -> io::Result<T> {
        match outcome {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            outcome => outcome,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let outcome = self.stdout.write(bytes);
        self.or_closed(outcome, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let outcome = self.stdout.flush();
        self.or_closed(outcome, ())
    }
}
