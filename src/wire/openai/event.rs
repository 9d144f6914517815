//! One JSON payload of a chat or completions stream, its top level.

use super::super::json::{Json, Value};
use super::{Choice, usage};
use crate::wire::Usage;

/// What one payload says.
#[derive(Clone, Default, Debug)]
pub(in crate::wire) struct Event<'a> {
    /// It is an error, whatever else it says.
    pub(in crate::wire) is_error: bool,
    /// Its usage, where it has one that is not null.
    pub(in crate::wire) usage: Option<Usage>,
    /// How many choices it has.
    pub(in crate::wire) choices: usize,
    first: Choice<'a>,
    /// The last usage that a choice has: some servers put it there.
    choice_usage: Option<Usage>,
    /// The whole array and what follows, for the events with more than one.
    array: Json<'a>,
}

impl<'a> Event<'a> {
    /// Reads a payload; `None` = this is no JSON. JSON that is no object says nothing.
    pub(in crate::wire) fn of(payload: &'a [u8]) -> Option<Self> {
        let mut event = Self::default();
        event.read(payload).map(|()| event)
    }

    /// Reads a payload in place: an event is large enough for its moving to show.
    #[inline]
    pub(in crate::wire) fn read(&mut self, payload: &'a [u8]) -> Option<()> {
        let json = Json::new(payload).solid();
        if !json.is_object() {
            return json.skip()?.is_at_end().then_some(());
        }
        let mut error = Value::default();
        let mut typed_error = false;
        let (mut keys, mut detail) = (0_u32, false);
        let rest = json.object(|key, value| {
            keys += 1;
            match key {
                b"choices" if value.is_array() => self.read_choices(value),
                b"usage" if value.is_object() => usage::read(value, self.usage.insert(Usage::default())),
                b"error" => value.give(|value| error = value),
                b"type" | b"object" => value.give(|value| typed_error |= value.text() == Some(b"error")),
                b"detail" => value.give(|value| detail |= value.is_something()),
                _ => value.skip(),
            }
        })?;
        if self.choice_usage.is_some() {
            self.usage = self.usage.or(self.choice_usage);
        }
        self.is_error = error.is_something() || typed_error || (detail && keys == 1);
        rest.is_at_end().then_some(())
    }

    #[inline(always)]
    fn read_choices(&mut self, json: Json<'a>) -> Option<Json<'a>> {
        self.array = json;
        self.choices = 0;
        self.choice_usage = None;
        json.array(|element| {
            if !element.is_object() {
                return element.skip();
            }
            self.choices += 1;
            if self.choices > 1 {
                return Choice::default().read(element, &mut self.choice_usage);
            }
            self.first = Choice::default();
            self.first.read(element, &mut self.choice_usage)
        })
    }

    /// Gives each choice to `take`, in order. The second and later ones are read again here: events with
    /// several are rare, and remembering them all would cost every event.
    #[inline]
    pub(in crate::wire) fn each_choice(&self, mut take: impl FnMut(&Choice<'a>)) {
        if self.choices == 0 {
            return;
        }
        take(&self.first);
        if self.choices == 1 {
            return;
        }
        let mut seen = 0;
        let walked = self.array.array(|element| {
            if !element.is_object() {
                return element.skip();
            }
            let mut choice = Choice::default();
            let rest = choice.read(element, &mut None)?;
            seen += 1;
            if seen > 1 {
                take(&choice);
            }
            Some(rest)
        });
        assert!(walked.is_some() && seen == self.choices, "an array that was read once reads the same again");
    }
}
