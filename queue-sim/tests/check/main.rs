//! The checks on handwritten histories, where no planted bug shows them: rules that bugs of today do not break, answers
//! that nobody may give, and the ends of runs. All other rules have the planted bugs.

mod history_builder;
mod rules;
mod runs;
