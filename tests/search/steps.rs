//! A continuous-batching engine written a second time, in plain seconds and counters: the truth that searches are held to.

use lowrho::random::{Purpose, Stream};
use std::collections::VecDeque;

/// Costs in seconds, places, and what every request asks for.
pub struct Steps {
    pub base_s: f64,
    pub per_sequence_s: f64,
    pub per_token_s: f64,
    pub chunk: u32,
    pub places: usize,
    pub prompt: u32,
    pub output: u32,
}

struct Seat {
    came: f64,
    prompt_left: u32,
    to_make: u32,
}

impl Steps {
    /// The share of `requests` Poisson requests whose first token came later than `bound_s`.
    pub fn late_share(&self, rate: f64, bound_s: f64, requests: u32) -> f64 {
        let mut stream = Stream::new(77, Purpose::named("truth of steps"), 0);
        let mut gap = || stream.exponential() / rate;
        let (mut now, mut next) = (0.0_f64, gap());
        let (mut seats, mut queue): (Vec<Seat>, VecDeque<f64>) = (Vec::new(), VecDeque::new());
        let (mut firsts, mut late) = (0_u32, 0_u32);
        while firsts < requests {
            if seats.is_empty() && queue.is_empty() {
                now = now.max(next);
            }
            // Who came while a step went on is let in at the next.
            while next <= now {
                queue.push_back(next);
                next += gap();
            }
            while seats.len() < self.places
                && let Some(came) = queue.pop_front()
            {
                seats.push(Seat { came, prompt_left: self.prompt, to_make: self.output });
            }
            let mut room = self.chunk;
            let (mut sequences, mut first) = (0.0, Vec::new());
            for seat in seats.iter_mut().filter(|seat| seat.prompt_left == 0) {
                seat.to_make -= 1;
                room -= 1;
                sequences += 1.0;
            }
            for seat in seats.iter_mut().filter(|seat| seat.prompt_left > 0 && seat.to_make == self.output) {
                let part = seat.prompt_left.min(room);
                seat.prompt_left -= part;
                room -= part;
                sequences += f64::from(u8::from(part > 0));
                if part > 0 && seat.prompt_left == 0 {
                    seat.to_make -= 1;
                    first.push(seat.came);
                }
            }
            let tokens = f64::from(self.chunk - room);
            now += self.base_s + self.per_sequence_s * sequences + self.per_token_s * tokens;
            for came in first {
                firsts += 1;
                late += u32::from(now - came > bound_s);
            }
            seats.retain(|seat| seat.to_make > 0);
        }
        f64::from(late) / f64::from(firsts)
    }
}
