//! The thread that shows progress, off the shards' cores.
//!
//! It never makes a shard wait, and a terminal that is gone is none of the run's business.

use super::line::{Reading, line};
use crate::clock;
use crate::record::ShardGauge;
use crate::time::{Instant, Span};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often a live line is drawn: smooth enough to watch, cheap enough to forget.
const LIVE_BEAT: Duration = Duration::from_millis(250);

/// How often a plain line is written: a log of an hour's run stays readable.
const PLAIN_BEAT: Duration = Duration::from_secs(5);

/// Rates and TTFT are those of so many seconds past: steady to look at, and still of now.
const LOOK_BACK: Span = Span::from_s(5);

/// Clears the line under the cursor.
const CLEAR: &str = "\r\x1b[K";

/// How progress is shown.
pub enum Show {
    /// One line that is drawn again and again, on a terminal whose width the function tells.
    Live(Box<dyn Fn() -> usize + Send>),
    /// A line every few seconds.
    Plain,
    /// Nothing but what is said.
    Quiet,
}

/// The progress of one run.
#[derive(Debug)]
pub struct Progress {
    said: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts showing the gauges of a run that starts at `start` and is planned to last `planned`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(
        gauges: Vec<Arc<ShardGauge>>,
        start: Instant,
        planned: Option<Span>,
        show: Show,
        out: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (said, says) = crossbeam_channel::unbounded();
        let screen = Screen { gauges, start, planned, show, out, past: VecDeque::new() };
        let thread = Builder::new().name("lowrho-watch".into()).spawn(move || screen.run(&says))?;
        Ok(Self { said: Some(said), thread: Some(thread) })
    }

    /// Says one line between those of progress, even when these are not shown.
    pub fn say(&self, words: impl Into<String>) {
        if let Some(said) = &self.said {
            // The thread ends only after this end of the channel does.
            let _ = said.send(words.into());
        }
    }

    /// Stops, and leaves the terminal's line empty.
    pub fn finish(self) {}
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.said = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's own side.
struct Screen<W> {
    gauges: Vec<Arc<ShardGauge>>,
    start: Instant,
    planned: Option<Span>,
    show: Show,
    out: W,
    /// Readings of the last seconds, oldest first.
    past: VecDeque<Reading>,
}

impl<W: Write> Screen<W> {
    fn run(mut self, says: &Receiver<String>) {
        let beat = if matches!(self.show, Show::Live(_)) { LIVE_BEAT } else { PLAIN_BEAT };
        let live = matches!(self.show, Show::Live(_));
        loop {
            // A terminal that is gone is no reason to stop: the channel is still to be emptied.
            let _ = match says.recv_timeout(beat) {
                Ok(words) if live => writeln!(self.out, "{CLEAR}{words}").and_then(|()| self.draw()),
                Ok(words) => writeln!(self.out, "{words}"),
                Err(RecvTimeoutError::Timeout) => self.draw(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
        }
        if live {
            let _ = write!(self.out, "{CLEAR}").and_then(|()| self.out.flush());
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let now = Reading {
            elapsed: clock::now() - self.start,
            shards: self.gauges.iter().map(|gauge| gauge.read()).collect(),
        };
        while self.past.get(1).is_some_and(|next| now.elapsed - next.elapsed >= LOOK_BACK) {
            self.past.pop_front();
        }
        let earlier = self.past.front().unwrap_or(&now);
        match &self.show {
            Show::Live(width) => {
                let text = line(&now, earlier, self.planned, width().saturating_sub(1));
                write!(self.out, "{CLEAR}{text}")?;
            }
            Show::Plain => writeln!(self.out, "{}", line(&now, earlier, self.planned, usize::MAX))?,
            Show::Quiet => {}
        }
        self.past.push_back(now);
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A terminal that can be read afterwards.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn started(show: Show, paper: &Paper) -> Progress {
        let gauge = Arc::new(ShardGauge::new());
        gauge.begun();
        Progress::start(vec![gauge], clock::now(), None, show, paper.clone()).unwrap()
    }

    #[test]
    fn what_is_said_stands_on_a_line_of_its_own_and_the_live_line_comes_back() {
        let paper = Paper::default();
        let progress = started(Show::Live(Box::new(|| 80)), &paper);
        progress.say("interrupted: draining");
        progress.finish();
        let text = paper.text();
        let (before, after) = text.split_once("interrupted: draining\n").expect("it was said");
        assert!(before.ends_with(CLEAR), "{before:?}");
        assert!(after.starts_with(CLEAR) && after.contains("begun 1"), "{after:?}");
        assert!(text.ends_with(CLEAR), "the line is left empty: {text:?}");
    }

    #[test]
    fn quiet_shows_only_what_is_said() {
        let paper = Paper::default();
        let progress = started(Show::Quiet, &paper);
        progress.say("interrupted: draining");
        progress.finish();
        assert_eq!(paper.text(), "interrupted: draining\n");
    }
}
