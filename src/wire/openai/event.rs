//! One JSON payload of a chat or completions stream, its top level.

use super::super::json::{Cursor, Value};
use super::{Choice, usage};
use crate::wire::Usage;

/// What one payload says.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::wire) struct Event<'a> {
    /// It is an error, whatever else it says.
    pub(in crate::wire) is_error: bool,
    /// Its usage, where it has one that is not null.
    pub(in crate::wire) usage: Option<Usage>,
    /// How many choices it has.
    pub(in crate::wire) choices: usize,
    first: Choice<'a>,
    /// The whole array, for the events with more than one.
    array: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads a payload; `None` = this is no JSON. JSON that is no object says nothing.
    pub(in crate::wire) fn read(payload: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(payload);
        if cursor.peek()? != b'{' {
            cursor.value()?;
            return cursor.is_at_end().then(Self::default);
        }
        let mut event = Self::default();
        let mut error = Value::Null;
        let mut typed_error = false;
        let (mut keys, mut detail) = (0_u32, false);
        cursor.object(|key, cursor| {
            keys += 1;
            match key {
                b"choices" => event.read_choices(cursor)?,
                b"usage" if cursor.peek()? == b'{' => event.usage = Some(usage::read(cursor)?),
                b"error" => error.update(cursor.value()?),
                b"type" | b"object" => typed_error |= cursor.value()? == Value::Text(b"error"),
                b"detail" => detail |= cursor.value()?.is_something(),
                _ => {
                    cursor.value()?;
                }
            }
            Some(())
        })?;
        event.is_error = error.is_something() || typed_error || (detail && keys == 1);
        cursor.is_at_end().then_some(event)
    }

    fn read_choices(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        if cursor.peek()? != b'[' {
            cursor.value()?;
            return Some(());
        }
        self.choices = 0;
        let array = cursor.rest();
        cursor.array(|cursor| {
            if let Some(choice) = Choice::read(cursor)? {
                if self.choices == 0 {
                    self.first = choice;
                }
                self.choices += 1;
            }
            Some(())
        })?;
        self.array = array;
        Some(())
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
        let _ = Cursor::new(self.array).array(|cursor| {
            if let Some(choice) = Choice::read(cursor)? {
                seen += 1;
                if seen > 1 {
                    take(&choice);
                }
            }
            Some(())
        });
    }
}
