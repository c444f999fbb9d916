"""What the page says around its tables; the numbers are put in by `page`."""

INTRODUCTION = """# Speed and memory

Made by `make bench` (`python -m benchmarks`); nothing here is edited by hand, and all figures are in
[results.json](performance/results.json). {machine}

The data is synthetic, by the law of the paper's: `dpsu.datasets.reddit_like`, items as strings, in Parquet files. Epsilon
is {epsilon:g}, delta {delta:.2g}, and at most {max_items} items of a user count. Contestants take turns in one process
after a warm-up, in a new order every time; seconds are medians, "spread" is half the way from the least to the most,
relative to the median. Compare ratios, not seconds: a virtual machine's speed changes from hour to hour. Repetitions:
{repetitions}.

The host of a virtual machine takes time for its other guests, and the kernel counts it. A measurement of which it took more
than {quiet:g} % is made again, {tries} times at most, and the least disturbed one counts. Of those that count it took at
most: {stolen}."""

QUICK = """**Some of this is from a quick run, on little data: it shows that the command works, and nothing about speed.**"""

END_TO_END = """## From a file to released items

{pairs} pairs of {users} users. "The script" is what one would write by hand with Polars: distinct pairs, a cut per user, a
count, Laplace noise from NumPy, a threshold. It is written in three ways, and all ratios are to the fastest here
("{script}"). Its noise is in floating point, which ours is not. The bare count has neither distinct pairs nor a cut, so
it is not private: it is the price of reading and counting.

{table}

![Seconds from a file to released items](performance/end-to-end.svg)

The default, Focused Gaussian, takes {of_script} of the script's time and {of_bare} of the bare count's. All algorithms but
`optimal-single`, which is for users with one item, have the same {max_items} items of a user to look at."""

PIPELINEDP = """## Against PipelineDP

{table}

PipelineDP {version} ran once: its local backend with Gaussian thresholding, on the same {pairs} pairs at the same privacy.
That backend has one core, ours all. In the first of its lines the clock starts when all pairs are in memory; ours starts
before the file is opened."""

ABSENT = """## Against PipelineDP

It did not take part: {absent}."""

STAGES = """## Where the time goes

One release by Focused Gaussian of {pairs} pairs, in {rounds} rounds, on all cores:

{table}

Three costs cannot be avoided: reading the file, numbering its items, and going over all pairs once. For the first two we
take Polars, which reads the two columns in {read} ms, and reads them and numbers the items in {encode} ms; one of the
{rounds} passes of "{weigh}" takes {one_pass} ms on average. By that measure the limit is {limit} ms, and a release takes
{far} times as long. What the rest buys:

- *{calibrating}* finds noise and thresholds, whatever the size of the data.
- *{encoding}* takes {more} ms {direction} than Polars needs to read and number the items. It numbers users too, and digests
  both under the release's own key: so the result depends neither on the order of rows nor on threads or the engine.
- *{sorting}* brings the items of each user together, without repeats.
- *{bounding}* and *{compacting}*, {cutting} ms, cut long rows at the beginning and drop released items after every round.
- *{weigh}* is {rounds} passes instead of one, over ever fewer pairs.
- *{updating}* draws noise from a keyed stream for every item that is still open, {rounds} times, and decides exactly."""

KERNELS = """## Loops

Nanoseconds per pair that is left after the cut ({pairs} pairs). A focused round has random priorities and no cap. "The loop
alone" is the compiled function; the other lines are the engine's verb around it. Policies go from user to user, so they have
one core. Everything runs {in_a_row} times in a row, as the rounds of a release do, before it is another's turn: a single
round on two cores would be over before a sleeping core is up and, on a virtual machine, has a place of its own.

{table}

The last line is what two threads gain that do nothing but arithmetic, measured in turns with the others: how much of a
second core the machine really gives. Two processors of a virtual machine may be two threads of one core."""

NOISE = """## Noise

{draws} draws each. Ours is AES-256 under a fresh key, a word per item, through the inverse distribution function and
exactly rounded to the grid; NumPy's generator is not made for secrets, and it rounds in floating point.

{table}"""

ENCODING = """## Reading and encoding

{table}

Ours numbers users as well as items, digests both, and sorts the pairs into rows; Polars' Categorical is a dictionary of the
items."""

CORES = """## One core and two

Selections of {pairs} pairs that are in memory as numbers: the cut, weights, noise and decisions. The release from the file
is that of Focused Gaussian, in a process that may use one core or two.

{table}"""

GROWTH = """## Growth

Files in parts of a million pairs at most, every size in a fresh process after a small release that loads the compiled code.
Peak memory is the whole process's; bytes per pair are what the release adds to a process that has loaded everything.

{tables}

![Seconds and peak memory against pairs](performance/growth.svg)

From {first} to {last} pairs the cost of a pair goes from {ns_first} to {ns_last} ns, and its memory from {bytes_first} to
{bytes_last} bytes."""

START = """## Starting

{table}

Loops are compiled when they are first needed and kept on disk: the first release on a machine is slow, once. Importing loads
nothing heavy until a name is used."""
