"""PipelineDP's partition selection on its local backend.

Arguments: pairs.csv epsilon delta max_items runs [method …]; JSON to standard output.
"""

import csv
import importlib.metadata
import json
import sys
import time

import pipeline_dp

STRATEGIES = {
    "truncated geometric": pipeline_dp.PartitionSelectionStrategy.TRUNCATED_GEOMETRIC,
    "Laplace threshold": pipeline_dp.PartitionSelectionStrategy.LAPLACE_THRESHOLDING,
    "Gaussian threshold": pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
}


def select(pairs, strategy, epsilon, delta, max_items):
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda pair: pair[0], partition_extractor=lambda pair: pair[1]
    )
    params = pipeline_dp.SelectPartitionsParams(
        max_partitions_contributed=max_items, partition_selection_strategy=strategy
    )
    selected = engine.select_partitions(pairs, params, extractors)
    accountant.compute_budgets()
    return list(selected)


def main():
    path, epsilon, delta = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    max_items, runs = int(sys.argv[4]), int(sys.argv[5])
    methods = sys.argv[6:] or list(STRATEGIES)
    begin = time.perf_counter()
    with open(path, newline="") as file:  # noqa: PTH123
        pairs = [tuple(row) for row in csv.reader(file)][1:]
    reading = time.perf_counter() - begin
    rows = []
    for method in methods:
        begin, busy = time.perf_counter(), time.process_time()
        counts = [len(select(pairs, STRATEGIES[method], epsilon, delta, max_items)) for _ in range(runs)]
        rows.append(
            {
                "method": method,
                "version": importlib.metadata.version("pipeline-dp"),
                "counts": counts,
                "reading_seconds": reading,
                "seconds": (time.perf_counter() - begin) / runs,
                "processor_seconds": (time.process_time() - busy) / runs,
            }
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
