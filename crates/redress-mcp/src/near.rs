//! What is near to a wrong name.

use std::cell::Cell;

/// How long names are at most.
const MAX_LENGTH: usize = 64;

/// Those of `names` that are nearest to a wrong one, the nearest first. Likeness costs the product of two lengths, and
/// what is much longer than every name is like none.
pub(crate) fn near<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    near_counted(wrong, names, &Cell::new(0))
}

/// The same. `steps` counts the product of the lengths that are compared.
fn near_counted<'a>(wrong: &str, names: impl Iterator<Item = &'a str>, steps: &Cell<usize>) -> Vec<String> {
    let likely = |name: &&str| wrong.len() <= 2 * name.len() + MAX_LENGTH && wrong.len() <= 8 * MAX_LENGTH;
    let wanted = if wrong.len() <= 8 * MAX_LENGTH { wrong.replace('.', "_") } else { String::new() };
    let likeness = |name: &'a str| {
        steps.set(steps.get() + name.len() * wanted.len());
        (strsim::jaro_winkler(name, &wanted), name)
    };
    let mut near: Vec<(f64, &str)> =
        names.filter(likely).map(likeness).filter(|(likeness, _)| *likeness >= 0.8).collect();
    near.sort_by(|(left, one), (right, other)| right.total_cmp(left).then_with(|| one.cmp(other)));
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_to_a_wrong_name_costs_no_more_for_a_longer_one() {
        let names: Vec<String> = (0..200).map(|number| format!("group{}_action{number}", number % 17)).collect();
        let steps = |length: usize| {
            let steps = Cell::new(0);
            near_counted(&"a".repeat(length), names.iter().map(String::as_str), &steps);
            steps.get()
        };
        assert!(steps(20) > 0 && steps(40) <= 2 * steps(20));
        for length in [1_000, 4_000, 1_000_000] {
            assert_eq!(steps(length), 0);
        }
    }

    #[test]
    fn a_wrong_name_has_near_ones() {
        let names = ["files_read", "files_list", "files_remove", "orders_refund"];
        let near = near("files.raed", names.into_iter());
        assert_eq!((near[0].as_str(), near.contains(&"orders_refund".to_owned())), ("files_read", false));
    }
}
