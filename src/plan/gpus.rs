//! What the servers run on and what that costs: only for figures per GPU.
//!
//! It changes nothing that is sent.

use super::raw::{Raw, Text};
use super::reading::{Bounds, Given, Place, Reading, option};

/// GPUs behind all servers of a run together.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Gpus {
    /// How many.
    pub count: u32,
    /// Dollars that one costs an hour.
    pub price_per_hour: Option<f64>,
}

/// More than any one service has.
const COUNT: std::ops::RangeInclusive<u32> = 1..=1_000_000;

const PRICE: Bounds = Bounds { least: 0.0, most: 1e6, unit: "dollars an hour for each GPU" };

impl Gpus {
    /// What `--gpus` and `--price` say where there is no plan to be made.
    ///
    /// # Errors
    /// In words, a line for each mistake.
    pub fn read(count: Option<&Text>, price: Option<&Text>) -> Result<Option<Self>, String> {
        let mut reading = Reading::without_a_file();
        let place = |name| Place::Option(super::Key::new("target", name));
        let count = Given { place: place("gpus"), value: count };
        let gpus = given(&mut reading, count, Given { place: place("price"), value: price });
        reading.done(gpus).map_err(|error| error.to_string())
    }
}

/// Reads `target.gpus` and `target.price`.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Option<Gpus> {
    given(r, option!(raw.target.gpus), option!(raw.target.price))
}

fn given(r: &mut Reading, count: Given<'_>, price: Given<'_>) -> Option<Gpus> {
    let price_per_hour = r.number(price, &PRICE);
    if count.value.is_none() && price.value.is_some() {
        r.refuse(price, "together with --gpus", "say how many GPUs it is paid for: --gpus 8");
    }
    Some(Gpus { count: r.count(count, COUNT)?, price_per_hour })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(count: Option<&str>, price: Option<&str>) -> Result<Option<Gpus>, String> {
        let (count, price) = (count.map(Text::from), price.map(Text::from));
        Gpus::read(count.as_ref(), price.as_ref())
    }

    #[test]
    fn a_price_needs_something_that_is_paid_for() {
        assert_eq!(read(None, None), Ok(None));
        assert_eq!(read(Some("8"), None), Ok(Some(Gpus { count: 8, price_per_hour: None })));
        assert_eq!(read(Some("8"), Some("2.5")), Ok(Some(Gpus { count: 8, price_per_hour: Some(2.5) })));
        assert!(read(None, Some("2.5")).unwrap_err().contains("--gpus 8"));
        assert!(read(Some("0"), None).unwrap_err().contains("--gpus: \"0\" is refused"));
        assert!(read(Some("8"), Some("-1")).unwrap_err().contains("--price: \"-1\" is refused"));
    }
}
