use super::Plan;

/// Makes a plan smaller while its run still fails: takes decisions out, in ever smaller chunks, and
/// then lowers the rest. `fails` plays a plan. If its run failed as before, it answers the plan of
/// the decisions that the run really took. It is called at most `budget` times.
///
/// This is delta debugging (Zeller and Hildebrandt, 2002), on decisions instead of input.
pub fn shrink(plan: Plan, budget: usize, mut fails: impl FnMut(&Plan) -> Option<Plan>) -> Plan {
    let mut best = plan;
    let mut left = budget;
    let mut attempt = |candidate: &Plan| {
        left = left.checked_sub(1)?;
        fails(candidate)
    };
    loop {
        let before = best.clone();
        let mut size = best.len().div_ceil(2).max(1);
        loop {
            best = drop_chunks(best, size, &mut attempt);
            if size == 1 {
                break;
            }
            size = size.div_ceil(2);
        }
        best = lower(best, &mut attempt);
        if best == before {
            return best;
        }
    }
}

fn drop_chunks(
    mut best: Plan,
    size: usize,
    attempt: &mut impl FnMut(&Plan) -> Option<Plan>,
) -> Plan {
    // From the end, since late decisions depend on earlier ones.
    let mut end = best.len();
    while end > 0 {
        let start = end.saturating_sub(size);
        let kept = best.iter().enumerate();
        let kept = kept.filter(|(index, _)| !(start..end).contains(index));
        let candidate = Plan(kept.map(|(_, decision)| decision).collect());
        if let Some(taken) = attempt(&candidate)
            && is_simpler(&taken, &best)
        {
            best = taken;
        }
        end = start.min(best.len());
    }
    best
}

fn lower(mut best: Plan, attempt: &mut impl FnMut(&Plan) -> Option<Plan>) -> Plan {
    let sites: Vec<_> = best.iter().map(|(site, _)| site).collect();
    for site in sites {
        for value in 1..best.get(site) {
            let mut candidate = best.clone();
            candidate.set(site, value);
            if let Some(taken) = attempt(&candidate)
                && is_simpler(&taken, &best)
            {
                best = taken;
                break;
            }
        }
    }
    best
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
        super::{Lane, Site, What},
        *,
    };

    fn site(step: u32) -> Site {
        Site::new(Lane(1), step, What::Verb)
    }

    #[test]
    fn what_does_not_matter_is_taken_out_and_what_does_is_lowered() {
        let mut plan = Plan::default();
        for step in 0..60 {
            plan.set(site(step), 1 + step % 9);
        }
        let mut runs = 0;
        // Fails if step 17 is at least 3 and step 40 is there at all.
        let small = shrink(plan, 500, |plan| {
            runs += 1;
            let fails = plan.get(site(17)) >= 3 && plan.get(site(40)) > 0;
            fails.then(|| plan.clone())
        });
        assert_eq!(small.to_string(), "v1:1.17.verb=3,1.40.verb=1");
        assert!(runs < 200, "{runs}");
    }

    #[test]
    fn the_budget_is_kept() {
        let mut plan = Plan::default();
        for step in 0..60 {
            plan.set(site(step), 1);
        }
        let mut runs = 0;
        shrink(plan, 10, |_| {
            runs += 1;
            None
        });
        assert_eq!(runs, 10);
    }
}
