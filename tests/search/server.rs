//! A server in virtual time under one trial's load: the simulator's engine, Poisson arrivals or a closed loop, and an outcome
//! counted here.

use lowrho::analysis::{Slo, Trend, What};
use lowrho::random::{Purpose as For, Stream};
use lowrho::record::{Metric, Window};
use lowrho::script::{EngineKind, Script, Serving, Work};
use lowrho::search::{Ask, Ended, Offer, Outcome, Shown, TermOutcome, Trust};
use lowrho::time::{Instant, Span};
use std::collections::VecDeque;

/// What is driven.
#[derive(Clone)]
pub struct Server {
    pub engine: &'static str,
    pub max_running: Option<u32>,
    pub prompt: u32,
    pub output: u32,
}

#[derive(Copy, Clone)]
struct Request {
    due: Instant,
    first: Option<Instant>,
}

struct Counts {
    window: Window,
    from: Instant,
    until: Instant,
    terms: Vec<TermOutcome>,
    slo: Slo,
    completed: [u64; 20],
    in_flight_ns: [u128; 20],
    e2e_ns: Vec<i64>,
    succeeded: u64,
}

impl Server {
    pub fn kind(&self) -> EngineKind {
        self.engine.parse().unwrap()
    }

    fn engine(&self) -> Serving {
        let script = Script { engine: self.kind(), max_running: self.max_running, ..Script::default() };
        Serving::new(&script, 0, 1)
    }

    /// The outcome of `ask`, from an idle server. The load goes on until what was due in the window is answered, at most for
    /// half the window.
    pub fn trial(&self, ask: &Ask, slo: &Slo, seed: u64, nth: u64) -> Outcome {
        let mut stream = Stream::new(seed, For::named("arrivals of a trial"), nth);
        let mut gap = |rate: f64| Span::from_s_f64(stream.exponential() / rate);
        let from = Instant::ZERO + ask.warmup;
        let mut counts = Counts::new(from, from + ask.window, slo);
        let patience = counts.until + ask.window / 2;
        let (mut engine, mut sizes) = (self.engine(), Vec::new());
        let (mut requests, mut free): (Vec<Request>, VecDeque<u32>) = (Vec::new(), VecDeque::new());
        let (mut number, mut open) = (0, 0_u64);
        let mut arrive = |engine: &mut Serving,
                          requests: &mut Vec<Request>,
                          free: &mut VecDeque<u32>,
                          at: Instant| {
            let request = Request { due: at, first: None };
            let owner = if let Some(owner) = free.pop_front() {
                requests[owner as usize] = request;
                owner
            } else {
                requests.push(request);
                u32::try_from(requests.len() - 1).unwrap()
            };
            number += 1;
            engine.arrive(Work { owner, number, prompt_tokens: self.prompt, output_tokens: self.output }, at);
        };
        let mut next = match ask.offer {
            Offer::Rate(rate) => Some(Instant::ZERO + gap(rate)),
            Offer::Slots(slots) => {
                for _ in 0..slots {
                    arrive(&mut engine, &mut requests, &mut free, Instant::ZERO);
                    open += u64::from(counts.holds(Instant::ZERO));
                }
                None
            }
        };
        loop {
            let due = engine.next_due();
            if let Some(at) = next.filter(|at| due.is_none_or(|due| *at <= due)) {
                if at >= counts.until && (open == 0 || at >= patience) {
                    break;
                }
                arrive(&mut engine, &mut requests, &mut free, at);
                open += u64::from(counts.holds(at));
                next = ask.offer.rate().map(|rate| at + gap(rate));
                continue;
            }
            let Some(due) = due else { break };
            if next.is_none() && due >= counts.until && (open == 0 || due >= patience) {
                break;
            }
            let Some(burst) = engine.advance(due, &mut sizes) else { continue };
            let request = &mut requests[burst.owner as usize];
            request.first.get_or_insert(burst.due);
            if burst.last {
                let over = *request;
                open -= u64::from(counts.holds(over.due));
                counts.finish(&over, burst.due, self.output);
                free.push_back(burst.owner);
                if next.is_none() && due < counts.until {
                    arrive(&mut engine, &mut requests, &mut free, burst.due);
                    open += u64::from(counts.holds(burst.due));
                }
            }
        }
        let ended = next.unwrap_or(counts.until);
        let idle: std::collections::HashSet<u32> = free.into_iter().collect();
        for (request, owner) in requests.iter().zip(0_u32..) {
            if !idle.contains(&owner) {
                counts.cancel(request, ended);
            }
        }
        counts.outcome(ask)
    }
}

impl Counts {
    fn new(from: Instant, until: Instant, slo: &Slo) -> Self {
        let term = TermOutcome { missed: vec![0; 20], of: vec![0; 20], requests: 0, crossed: None };
        Self {
            window: Window::of_time(from, until),
            from,
            until,
            terms: vec![term; slo.terms().len()],
            slo: slo.clone(),
            completed: [0; 20],
            in_flight_ns: [0; 20],
            e2e_ns: Vec::new(),
            succeeded: 0,
        }
    }

    fn holds(&self, at: Instant) -> bool {
        self.window.contains(at)
    }

    fn block(&self, at: Instant) -> usize {
        let (inside, all) = ((at - self.from).as_ns(), (self.until - self.from).as_ns());
        usize::try_from(inside * 20 / all).unwrap()
    }

    fn in_flight(&mut self, from: Instant, until: Instant) {
        let (from, until) = (from.max(self.from), until.min(self.until));
        if from >= until {
            return;
        }
        let length = (self.until - self.from) / 20;
        for (block, ns) in self.in_flight_ns.iter_mut().enumerate() {
            let begins = self.from + length * i64::try_from(block).unwrap();
            let inside = until.min(begins + length) - from.max(begins);
            *ns += u128::try_from(inside.as_ns()).unwrap_or(0);
        }
    }

    fn finish(&mut self, request: &Request, at: Instant, output: u32) {
        self.in_flight(request.due, at);
        if self.holds(at) {
            let block = self.block(at);
            self.completed[block] += 1;
        }
        if !self.holds(request.due) {
            return;
        }
        self.succeeded += 1;
        self.e2e_ns.push((at - request.due).as_ns());
        let first = request.first.unwrap();
        for (place, term) in self.slo.clone().terms().iter().enumerate() {
            let What::Latency { bound, .. } = *term.what() else { panic!("these tests bound latencies") };
            let value = match bound.metric {
                Metric::Ttft => Some(first - request.due),
                Metric::E2e => Some(at - request.due),
                Metric::Tpot => (output > 1).then(|| (at - first) / i64::from(output - 1)),
                other => panic!("no {other:?} here"),
            };
            if let Some(value) = value {
                self.count(place, request.due, value > bound.most);
            }
        }
    }

    fn count(&mut self, place: usize, due: Instant, over: bool) {
        let block = self.block(due);
        let term = &mut self.terms[place];
        term.of[block] += 1;
        term.missed[block] += u64::from(over);
        term.requests += 1;
    }

    /// A request that the trial did not wait for: over the bound already, or nobody knows.
    fn cancel(&mut self, request: &Request, at: Instant) {
        self.in_flight(request.due, at);
        if !self.holds(request.due) {
            return;
        }
        for (place, term) in self.slo.clone().terms().iter().enumerate() {
            let What::Latency { bound, .. } = *term.what() else { panic!("these tests bound latencies") };
            let done = bound.metric == Metric::Ttft && request.first.is_some();
            if !done && bound.metric != Metric::Tpot && at - request.due > bound.most {
                self.count(place, request.due, true);
            }
        }
    }

    fn outcome(mut self, ask: &Ask) -> Outcome {
        let lengths = [(self.until - self.from) / 20; 20];
        let trend = Trend::of(&self.in_flight_ns, &lengths);
        self.e2e_ns.sort_unstable();
        let p95_ns = self.e2e_ns.get(self.e2e_ns.len() * 95 / 100).copied();
        let count = i64::try_from(self.e2e_ns.len()).unwrap();
        let e2e = Shown {
            metric: "e2e".into(),
            mean_ns: self.e2e_ns.iter().sum::<i64>().checked_div(count),
            p50_ns: None,
            p95_ns,
            p99_ns: None,
            p50_ci: None,
            p99_ci: None,
        };
        Outcome {
            client: Trust::Valid,
            ended: Ended::Whole,
            window: ask.window,
            completed: self.completed.to_vec(),
            in_flight: trend.means.to_vec(),
            grew: trend.grew && ask.offer.rate().is_some(),
            detectable_per_s: trend.detectable_per_s,
            terms: self.terms,
            goodput_per_s: None,
            succeeded: self.succeeded,
            failed: 0,
            output_tokens_per_s: None,
            shown: vec![e2e],
        }
    }
}
