use std::fmt;

use super::{super::Site, Regression};

/// A kept plan whose run passes, but which no longer fits the code: some of what it decides was
/// never asked for.
///
/// That is no proof of anything wrong. Once a bug is mended, the run that showed it may take another
/// course from there, and rightly. But it is no proof of anything right either: a plan that has
/// fallen out of step with the code passes as well, and would be taken for a protection for ever.
/// Which of the two it is takes somebody who knows what was changed, so it is told, and never passed
/// over. What is in order is granted in the line, by its number, and told again only if it grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    regression: Regression,
    unmet: Vec<Site>,
    /// Nothing that happens in the run is decided by the plan any more.
    dead: bool,
}

impl Regression {
    /// What is to be said of a run of the plan that passes, when these of its decisions were never
    /// asked for: nothing, if they are no more than the line grants.
    ///
    /// Parameters decide what may happen, and nothing of what does. So a plan that still meets them
    /// but nothing else that it decides shows nothing, whatever its line grants.
    pub fn misfit(&self, unmet: &[Site]) -> Option<Misfit> {
        let acts = |site: &Site| !site.is_parameter();
        let sites: Vec<Site> = self.plan.iter().map(|(site, _)| site).collect();
        let all_parameters = !sites.iter().any(acts);
        let counts = |site: &&Site| all_parameters || acts(site);
        let deciding = sites.iter().filter(counts).count();
        let dead = deciding > 0 && unmet.iter().filter(counts).count() == deciding;
        (dead || unmet.len() > self.unmet).then(|| Misfit::new(self.clone(), unmet, dead))
    }
}

impl Misfit {
    fn new(regression: Regression, unmet: &[Site], dead: bool) -> Self {
        Self {
            regression,
            unmet: unmet.to_vec(),
            dead,
        }
    }

    /// Where it is kept: `file:line`.
    pub fn place(&self) -> String {
        self.regression.place()
    }

    /// The line to put in the place of this one, if what is unmet is in order; none if the plan
    /// shows nothing any more, and is to be deleted.
    pub fn replacement(&self) -> Option<String> {
        let unmet = self.unmet.len();
        let mut granted = self.regression.clone();
        granted.unmet = unmet;
        (!self.dead).then(|| granted.to_string())
    }

    /// Whether it is about this line of the file.
    pub(super) fn is_of(&self, number: usize, line: &str) -> bool {
        let (file, at) = &self.regression.place;
        *at == number
            && Regression::parse(file, number, line).is_ok_and(|now| now == self.regression)
    }
}

impl fmt::Display for Misfit {
    /// Where it is, what is the matter, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            regression, unmet, ..
        } = self;
        write!(f, "{}: a kept plan no longer fits", regression.place())?;
        if !regression.broke.is_empty() {
            write!(f, "; it once broke {}", regression.broke)?;
        }
        let sites: Vec<String> = unmet.iter().map(Site::to_string).collect();
        write!(
            f,
            "\n  It passes, but {} of its {} decisions were never asked for",
            unmet.len(),
            regression.plan.len(),
        )?;
        if regression.unmet > 0 {
            write!(f, " (the line grants {})", regression.unmet)?;
        }
        write!(f, ":\n  {}.\n", sites.join(", "))?;
        match self.replacement() {
            None => f.write_str(
                "  What is left of it is a run in which nothing goes otherwise than usual, and that \
                 shows nothing:\n  delete the line.\n",
            ),
            Some(line) => write!(
                f,
                "  If your change explains that (the bug is mended, and from there the run goes \
                 another way), put\n  this line in its place:\n\n{line}\n\n  If it does not, the \
                 plan is of other code than this, and shows nothing: delete the line.\n"
            ),
        }
    }
}
