//! Stamps of the network card: whether there is one that stamps, told to if that was asked for, and told to stop afterwards.
//!
//! It must not change a card that it was not asked to change, and leaves none changed.

use super::RunError;
use crate::clock::CardClock;
use crate::host::Route;
use crate::plan::Plan;
use crate::ring::{Card, CardStamps};
use crate::time::StampClass;
use rustix::io::Errno;
use std::sync::Arc;

/// The card that stamps for a run.
#[derive(Debug)]
pub struct Stamping {
    /// Its clock.
    pub clock: Arc<CardClock>,
    /// The card, where we told it to stamp.
    enabled: Option<Card>,
}

impl Drop for Stamping {
    fn drop(&mut self) {
        if let Some(card) = &self.enabled {
            // A card that is gone stamps nothing any more.
            let _ = card.set_stamps(false);
        }
    }
}

/// What is to be done about a card.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Verdict {
    /// It stamps, and its clock has this number.
    Ready(u32),
    /// It would stamp if it were told to.
    Enable(u32),
}

/// Has the card on `route` stamp, if `plan` asks for its stamps; `routes` are those to all addresses.
///
/// # Errors
/// There is no card that stamps every packet, or there are several on the way, or it may not be told to, or its clock cannot be read: with what to do.
pub fn stamping(
    plan: &Plan,
    route: &Route,
    routes: impl Iterator<Item = Route>,
) -> Result<Option<Stamping>, RunError> {
    if plan.client.stamps != StampClass::Hardware {
        return Ok(None);
    }
    let refused = |why: String| RunError::Plan(format!("--stamps hardware: {why}, or use --stamps software"));
    let Some(interface) = route.interface.as_deref() else {
        return Err(refused("the interface to the target is not known: name a target with a route".into()));
    };
    if let Some(other) = routes.filter_map(|other| other.interface).find(|other| other != interface) {
        return Err(refused(format!(
            "the target is reached over {interface} and over {other}, and one card's clock is read: name addresses behind one card"
        )));
    }
    let card =
        Card::of(interface).map_err(|errno| refused(format!("{interface} cannot be asked ({errno})")))?;
    let verdict = judge(interface, card.stamps(), plan.client.enable_stamps).map_err(refused)?;
    let (Verdict::Ready(number) | Verdict::Enable(number)) = verdict;
    let clock = CardClock::open(number).map_err(|errno| {
        refused(format!(
            "the card's clock /dev/ptp{number} cannot be opened ({errno}): let this user read it"
        ))
    })?;
    let enabled = match verdict {
        Verdict::Ready(_) => None,
        Verdict::Enable(_) => {
            card.set_stamps(true).map_err(|errno| {
                refused(format!(
                    "{interface} cannot be told to stamp ({errno}): give this program CAP_NET_ADMIN"
                ))
            })?;
            Some(card)
        }
    };
    Ok(Some(Stamping { clock: Arc::new(clock), enabled }))
}

/// What the card's answer means for us, in words where it means that nothing can be had.
fn judge(interface: &str, stamps: Result<CardStamps, Errno>, may_enable: bool) -> Result<Verdict, String> {
    let stamps = match stamps {
        Ok(stamps) if stamps.able => stamps,
        Ok(_) | Err(Errno::OPNOTSUPP) => {
            return Err(format!(
                "{interface} does not stamp every packet it receives (ethtool -T {interface}): drive the target over a card that does"
            ));
        }
        Err(errno) => {
            return Err(format!(
                "{interface} does not say what it can stamp ({errno}): see ethtool -T {interface}"
            ));
        }
    };
    let clock = stamps.clock.ok_or_else(|| {
        format!("{interface} has no clock that can be read (PTP hardware clock): drive the target over a card that has one")
    })?;
    match stamps.enabled {
        Some(true) => Ok(Verdict::Ready(clock)),
        _ if may_enable => Ok(Verdict::Enable(clock)),
        _ => Err(format!(
            "{interface} can stamp and does not: add --enable-hw-stamps, or tell it to (hwstamp_ctl -i {interface} -r 1)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABLE: CardStamps = CardStamps { able: true, enabled: Some(false), clock: Some(2) };

    #[test]
    fn a_card_that_stamps_is_used_as_it_is_and_one_that_could_is_told_only_if_that_was_asked() {
        let stamping = CardStamps { enabled: Some(true), ..ABLE };
        assert_eq!(judge("eth0", Ok(stamping), false), Ok(Verdict::Ready(2)));
        assert_eq!(judge("eth0", Ok(stamping), true), Ok(Verdict::Ready(2)));
        assert_eq!(judge("eth0", Ok(ABLE), true), Ok(Verdict::Enable(2)));
        assert!(judge("eth0", Ok(ABLE), false).unwrap_err().contains("--enable-hw-stamps"));
        let silent = CardStamps { enabled: None, ..ABLE };
        assert!(judge("eth0", Ok(silent), false).is_err(), "what it does not say is not believed");
    }

    #[test]
    fn a_card_that_cannot_is_refused_with_what_to_do() {
        for (stamps, said) in [
            (Ok(CardStamps { able: false, ..ABLE }), "does not stamp every packet"),
            (Err(Errno::OPNOTSUPP), "does not stamp every packet"),
            (Ok(CardStamps { clock: None, ..ABLE }), "no clock that can be read"),
            (Err(Errno::NODEV), "ethtool -T eth0"),
        ] {
            let why = judge("eth0", stamps, true).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }
}
