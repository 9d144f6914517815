//! One value for each choice of a request: nearly always there is one choice, and then nothing is allocated.
//!
//! It must not know what its values are.

pub(super) struct ByChoice<T> {
    zero: Option<T>,
    others: Vec<(u16, T)>,
}

impl<T> ByChoice<T> {
    pub const fn new() -> Self {
        Self { zero: None, others: Vec::new() }
    }

    /// Sets the value of `choice`; the answer is its former one.
    pub fn replace(&mut self, choice: u16, value: T) -> Option<T> {
        if choice == 0 {
            return self.zero.replace(value);
        }
        match self.others.iter_mut().find(|(other, _)| *other == choice) {
            Some((_, former)) => Some(std::mem::replace(former, value)),
            None => {
                self.others.push((choice, value));
                None
            }
        }
    }

    /// The value of `choice`, which is `fresh` if it had none.
    pub fn get_or_insert(&mut self, choice: u16, fresh: T) -> &mut T {
        if choice == 0 {
            return self.zero.get_or_insert(fresh);
        }
        let place = self.others.iter().position(|(other, _)| *other == choice).unwrap_or_else(|| {
            self.others.push((choice, fresh));
            self.others.len() - 1
        });
        &mut self.others[place].1
    }

    /// The values, in no promised order.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.zero.into_iter().chain(self.others.into_iter().map(|(_, value)| value))
    }
}
