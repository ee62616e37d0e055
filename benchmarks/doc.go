// SPDX-License-Identifier: Apache-2.0

// Package benchmarks is where prywalk is measured; the commands are in the directories below. It is a module of its
// own. Paths of flags begin at the top of the repository.
//
// accuracy makes the figures of benchmarks/results/completeness.md and shares.md. They are how many stacks are
// complete, and whether the shares of the most expensive functions agree with perf's. They are also whether the
// processor time adds up to the kernel's, how soon the first sample comes, and how long naming takes.
//
//	go -C benchmarks run ./accuracy                               all programs, a table on standard output
//	go -C benchmarks run ./accuracy -only cpp,redis -d 3s -pairs 8    a short trial
//	go -C benchmarks run ./accuracy -json figures.json -markdown benchmarks/results/shares.md
//
// With -json, figures that the file holds already are kept for the programs that are not measured again. So a run
// that was cut short is taken up with -only.
//
// ladder makes those of benchmarks/results/ladder.md. They are stops a second of running and sleeping threads,
// prywalk's own cost, the length of a freeze, and what a target loses, against the number of threads.
//
//	go -C benchmarks run ./ladder -docs benchmarks/results/ladder.md
//	go -C benchmarks run ./ladder -only stops -rounds 2 -window 1s -warmup 1s    a short trial
//
// peeks makes the page benchmarks/results/sleepers.md: how many peeks at sleeping threads gave a
// complete stack, and whether they equal those of a freeze in the same sleep.
//
//	go -C benchmarks run ./peeks                    all programs, tables on standard output
//	go -C benchmarks run ./peeks -docs              the tables go into the page
//
// memory makes an hour's worth of ticks in minutes, and tells how prywalk's resident size grows.
//
//	go -C benchmarks run ./memory
//	go -C benchmarks run ./memory -threads 5000 -ticks 36000
//
// owncpu measures what prywalk takes of the processors for itself, from start to end. It does so beside perf record
// with perf script and other tools, on the same target at the same rate.
//
//	go -C benchmarks run ./owncpu
//
// shortlives makes the table of benchmarks/results/short-lives.md: the share of the processor time of short commands,
// threads and forks that prywalk, perf record, samply and py-spy name.
//
//	go -C benchmarks run ./shortlives
//
// python makes the tables of benchmarks/results/python.md. On real Python programs they tell of prywalk, py-spy,
// austin, Tachyon and perf: throughput, lengths of answers, stacks that are wrong or cut, shares of lines.
//
//	go -C benchmarks run ./python
//	go -C benchmarks run ./python -only flask -limit 40s    a short trial
//
// atwork records some 40 programs in their hot loops: complete stacks, bytes copied, lengths of freezes, own time.
// scripts/setup-atwork.sh installs them.
//
//	go -C benchmarks run ./atwork -docs
//	go -C benchmarks run ./atwork -quick -only vp9,luajit    a short trial
//
// deadlocks looks at the locks of contended servers, redis, PostgreSQL, MariaDB and a JVM, as dump --locks does. It
// counts the waits that it sees, their owners, and the deadlocks, of which there are none.
//
//	go -C benchmarks run ./deadlocks                ten minutes of each
//	go -C benchmarks run ./deadlocks -d 30s -only mariadb-contended    a short trial
//
// java measures what prywalk, async-profiler and JFR take of a Java program at work, and whether they tell the truth of
// it. scripts/setup-java-load.sh fetches the libraries that the program works with.
//
//	go -C benchmarks run ./java
//	go -C benchmarks run ./java -freq 1000
//
// counts holds what looking costs in stops, system calls, bytes and allocations, by a test; unwind compares
// unwinders. overhead measures what a target loses by being sampled, with all workloads and beside other tools; prywalk
// bench is a part of it.
//
//	make bench-quick    make bench-full    go -C benchmarks run ./overhead -help
//
// Below are the parts that they are made of: stats (intervals and tests), perfscript (the output of perf script),
// recordings (what a profile says of its stacks). Another is elfnames (a plain reading of symbol tables, by which
// two tools' addresses are compared).
//
// A figure is a count, or a ratio of two things measured side by side in one run. Nothing here is part of
// the product, and the product imports none of it.
package benchmarks
