use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{ChoicePoint, Plan};

/// Makes a plan smaller while its run still fails. It removes decisions: first all about one matter or all of one
/// process, then ever smaller chunks. Then it lowers the rest. `fails` plays a plan. If the run failed as before,
/// `fails` returns the plan of the decisions that the run really took. It is called at most `budget` times, and never
/// twice with the same plan.
///
/// This is delta debugging (Zeller and Hildebrandt, 2002), on decisions instead of input.
pub fn shrink(plan: Plan, budget: usize, fails: impl FnMut(&Plan) -> Option<Plan>) -> Plan {
    let mut shrinking = Shrinking {
        best: plan,
        left: budget,
        tried: HashSet::new(),
        fails,
    };
    shrinking.attempt(&Plan::default());
    shrinking.drop_groups(|point| point.what);
    shrinking.drop_groups(|point| point.process);
    loop {
        let before = shrinking.best.clone();
        let mut size = before.len().div_ceil(2).max(1);
        loop {
            shrinking.drop_chunks(size);
            if size == 1 {
                break;
            }
            size = size.div_ceil(2);
        }
        shrinking.lower();
        if shrinking.best == before {
            return before;
        }
    }
}

struct Shrinking<F> {
    best: Plan,
    left: usize,
    /// The hashes of the plans that were played: a plan takes more room.
    tried: HashSet<u64>,
    fails: F,
}

impl<F: FnMut(&Plan) -> Option<Plan>> Shrinking<F> {
    /// Plays a simpler plan. If it fails, too, it is the best plan from now on, and this returns true.
    fn attempt(&mut self, candidate: &Plan) -> bool {
        let mut hasher = DefaultHasher::new();
        candidate.hash(&mut hasher);
        if self.left == 0
            || !is_simpler(candidate, &self.best)
            || !self.tried.insert(hasher.finish())
        {
            return false;
        }
        self.left -= 1;
        match (self.fails)(candidate) {
            Some(taken) if is_simpler(&taken, &self.best) => {
                self.best = taken;
                true
            }
            _ => false,
        }
    }

    /// Takes out all decisions of a group at once, the largest group first: most groups have nothing
    /// to do with the failure.
    fn drop_groups<G: Ord>(&mut self, group: impl Fn(ChoicePoint) -> G) {
        let mut sizes = BTreeMap::<G, usize>::new();
        for (point, _) in self.best.iter() {
            *sizes.entry(group(point)).or_default() += 1;
        }
        let mut groups: Vec<(G, usize)> = sizes.into_iter().collect();
        groups.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        for (dropped, _) in groups {
            let kept = self.best.iter();
            let kept = kept.filter(|(point, _)| group(*point) != dropped);
            self.attempt(&kept.collect());
        }
    }

    fn drop_chunks(&mut self, size: usize) {
        // From the end, since late decisions depend on earlier ones.
        let mut end = self.best.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            let kept = self.best.iter().enumerate();
            let kept = kept.filter(|(index, _)| !(start..end).contains(index));
            self.attempt(&kept.map(|(_, decision)| decision).collect());
            end = start.min(self.best.len());
        }
    }

    /// Lowers each decision to 1, or else to the lowest value that a binary search finds.
    fn lower(&mut self) {
        let points: Vec<_> = self.best.iter().map(|(point, _)| point).collect();
        for point in points {
            let mut enough = self.best.get(point);
            let mut too_low = 0;
            while enough > too_low + 1 {
                let value = if too_low == 0 {
                    1
                } else {
                    too_low.midpoint(enough)
                };
                let mut candidate = self.best.clone();
                candidate.set(point, value);
                if self.attempt(&candidate) {
                    enough = value;
                } else {
                    too_low = value;
                }
            }
        }
    }
}

fn is_simpler(plan: &Plan, than: &Plan) -> bool {
    let weight = |plan: &Plan| {
        let sum: u64 = plan.iter().map(|(_, value)| u64::from(value)).sum();
        (plan.len(), sum)
    };
    weight(plan) < weight(than)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ChoicePoint, Process, What},
        *,
    };

    fn point(step: u32) -> ChoicePoint {
        ChoicePoint::new(Process(1), step, What::Verb)
    }

    fn plan(decisions: impl IntoIterator<Item = (ChoicePoint, u32)>) -> Plan {
        decisions.into_iter().collect()
    }

    /// Shrinks a plan that fails by this rule. Returns the shrunk plan, and the plans that were played.
    fn shrunk(plan: Plan, is_failure: impl Fn(&Plan) -> bool) -> (String, Vec<Plan>) {
        let mut played = Vec::new();
        let small = shrink(plan, 500, |plan| {
            played.push(plan.clone());
            is_failure(plan).then(|| plan.clone())
        });
        (small.to_string(), played)
    }

    #[test]
    fn irrelevant_decisions_are_removed_and_the_others_lowered() {
        let all = plan((0..60).map(|step| (point(step), 1 + step % 9)));
        let fails = |plan: &Plan| plan.get(point(17)) >= 3 && plan.get(point(40)) > 0;
        let (small, played) = shrunk(all, fails);
        assert_eq!(small, "v1:1.17.verb=3,1.40.verb=1");
        assert!(played.len() < 80, "{}", played.len());
    }

    #[test]
    fn a_failure_that_needs_nothing_is_found_at_once() {
        let all = plan((0..60).map(|step| (point(step), 1)));
        let (small, played) = shrunk(all, |_| true);
        assert_eq!((&*small, played.len()), ("v1:", 1));
    }

    #[test]
    fn decisions_of_other_matters_and_processes_are_removed_at_once() {
        let one = ChoicePoint::new(Process(3), 5, What::Reply);
        let others = [
            (1, What::Pick),
            (1, What::Reply),
            (2, What::Reply),
            (3, What::Pick),
        ];
        let others = others.into_iter().flat_map(|(process, what)| {
            (0..300).map(move |step| (ChoicePoint::new(Process(process), step, what), 1))
        });
        let (small, played) = shrunk(plan(others.chain([(one, 1)])), |plan| plan.get(one) > 0);
        assert_eq!(small, "v1:3.5.reply=1");
        assert!(played.len() < 10, "{}", played.len());
    }

    #[test]
    fn a_great_number_is_lowered_by_halves() {
        let all = plan([(point(1), 40_000)]);
        let (small, played) = shrunk(all, |plan| plan.get(point(1)) >= 1_234);
        assert_eq!(small, "v1:1.1.verb=1234");
        assert!(played.len() < 40, "{}", played.len());
    }

    #[test]
    fn no_plan_is_played_twice() {
        let all = plan((0..20).map(|step| (point(step), 3)));
        // Two decisions can only be removed together, which takes several rounds.
        let fails =
            |plan: &Plan| (plan.get(point(3)) > 0) == (plan.get(point(11)) > 0) && plan.len() > 4;
        let (_, played) = shrunk(all, fails);
        let different: HashSet<&Plan> = played.iter().collect();
        assert_eq!(different.len(), played.len());
    }

    #[test]
    fn the_budget_is_kept() {
        let all = plan((0..60).map(|step| (point(step), 1)));
        let mut runs = 0;
        shrink(all, 10, |_| {
            runs += 1;
            None
        });
        assert_eq!(runs, 10);
    }
}
