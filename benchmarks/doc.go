// SPDX-License-Identifier: Apache-2.0

// Package benchmarks measures prywalk. It is a module of its own with a command in each directory below. Paths of
// flags start at the top of the repository.
//
// accuracy makes the figures of benchmarks/results/completeness.md and shares.md: how many stacks are complete,
// whether the shares of the most expensive functions agree with perf's, whether the CPU time adds up to the
// kernel's, how soon the first sample comes, how long naming takes. With -json, figures in the file are kept for
// programs that are not measured again, so an interrupted run can be resumed with -only.
//
//	go -C benchmarks run ./accuracy                               all programs, a table on standard output
//	go -C benchmarks run ./accuracy -only cpp,redis -d 3s -pairs 8    a short trial
//	go -C benchmarks run ./accuracy -json figures.json -markdown benchmarks/results/shares.md
//
// ladder makes benchmarks/results/ladder.md: stops per second of running and sleeping threads, prywalk's own cost,
// the length of a freeze, and the target's loss, against the number of threads.
//
//	go -C benchmarks run ./ladder -docs benchmarks/results/ladder.md
//	go -C benchmarks run ./ladder -only stops -rounds 2 -window 1s -warmup 1s    a short trial
//
// peeks makes benchmarks/results/sleepers.md: how many peeks at sleeping threads gave a complete stack, and
// whether they equal those of a freeze in the same sleep.
//
//	go -C benchmarks run ./peeks                    all programs, tables on standard output
//	go -C benchmarks run ./peeks -docs              the tables go into the page
//
// memory makes the ticks of an hour in minutes, and shows how prywalk's resident size grows.
//
//	go -C benchmarks run ./memory
//	go -C benchmarks run ./memory -threads 5000 -ticks 36000
//
// owncpu measures prywalk's own CPU time from start to end, beside perf record with perf script and other tools on
// the same target at the same rate.
//
//	go -C benchmarks run ./owncpu
//
// shortlives makes benchmarks/results/short-lives.md: the share of the CPU time of short commands, threads and
// forks that prywalk, perf record, samply and py-spy name.
//
//	go -C benchmarks run ./shortlives
//
// python makes benchmarks/results/python.md: prywalk, py-spy, austin, Tachyon and perf on real Python programs,
// with throughput, response times, wrong and cut stacks, shares of lines.
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
// deadlocks reads the locks of contended servers (redis, PostgreSQL, MariaDB, a JVM) as dump --locks does. It
// counts waits, owners, and deadlocks, of which there are none.
//
//	go -C benchmarks run ./deadlocks                ten minutes of each
//	go -C benchmarks run ./deadlocks -d 30s -only mariadb-contended    a short trial
//
// java measures the cost of prywalk, async-profiler and JFR on a Java program, and whether their shares are true.
// scripts/setup-java-load.sh fetches the program's libraries.
//
//	go -C benchmarks run ./java
//	go -C benchmarks run ./java -freq 1000
//
// counts tests the cost of observations in stops, system calls, bytes and allocations; unwind compares unwinders.
// overhead measures a target's loss by sampling, with all workloads and beside other tools; prywalk bench is a
// part of it.
//
//	make bench-quick    make bench-full    go -C benchmarks run ./overhead -help
//
// Common parts are stats (intervals and tests), perfscript (the output of perf script), recordings (the stacks of
// a profile) and elfnames (a plain reader of symbol tables, by which two tools' addresses are compared).
//
// A figure is a count, or a ratio of two things measured side by side in one run. The product imports nothing of
// this module.
package benchmarks
