use std::time::Duration;

pub(crate) const HELP: &str = "\
Pushes and receives on many queues of a real Redis, from two runtimes, over a long line.

    crowd [--rounds N] [--queues N] [--rate N] [--seconds N] [--line MS] [--large N]

    --rounds N    how often, each on a server of its own       [1]
    --queues N    queues, each with a consumer that waits      [1000]
    --rate N      messages pushed a second, over all queues    [500]
    --seconds N   for how long                                 [5]
    --line MS     the line's round trip in milliseconds        [10]
    --large N     one in so many bodies is 1 MB; 0 for none    [200]

Prints for each round what was pushed and received, and how long it took from the beginning of a push
to its receipt. Ends with 1 if a message was lost or came twice, or if a consumer slept while one was
there; with 2 if it was called in another way.";

#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    pub(crate) rounds: u32,
    pub(crate) queues: usize,
    pub(crate) rate: u32,
    pub(crate) duration: Duration,
    pub(crate) line: Duration,
    pub(crate) large: u64,
}

impl Arguments {
    /// `None` if the words ask for help.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self {
            rounds: 1,
            queues: 1_000,
            rate: 500,
            duration: Duration::from_secs(5),
            line: Duration::from_millis(10),
            large: 200,
        };
        let mut words = words;
        while let Some(option) = words.next() {
            if option == "--help" {
                return Ok(None);
            }
            let value = words.next().ok_or(format!("{option} wants a number"))?;
            let number: u32 = value
                .parse()
                .map_err(|_| format!("{option} {value}: not a number"))?;
            match option.as_str() {
                "--rounds" => arguments.rounds = number,
                "--queues" if number > 0 => arguments.queues = number as usize,
                "--rate" if number > 0 => arguments.rate = number,
                "--seconds" => arguments.duration = Duration::from_secs(number.into()),
                "--line" => arguments.line = Duration::from_millis(number.into()),
                "--large" => arguments.large = number.into(),
                _ => return Err(format!("{option} {value} is not understood, see --help")),
            }
        }
        Ok(Some(arguments))
    }
}
