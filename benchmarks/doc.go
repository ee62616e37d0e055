// SPDX-License-Identifier: Apache-2.0

// Package benchmarks measures prywalk. It is a module of its own; its commands are in the directories below, each
// with its usage in the package comment. Paths of flags start at the top of the repository.
//   - accuracy: complete stacks, shares beside perf's, CPU time, start-up, naming
//   - ladder: stops, prywalk's cost, and the target's loss, by number of threads
//   - overhead: a target's loss, beside other tools; prywalk bench is a part of it
//   - owncpu: prywalk's CPU time from start to end, beside other tools
//   - memory, soak, fleet: growth of memory; of all resources; cost of agents and a Collector
//   - peeks: passive reads of sleeping threads, compared with stops in the same sleep
//   - atwork: some 40 programs in their hot loops
//   - java, python: prywalk and the profilers of a language
//   - shortlives, bursts, engines: short-lived processes and threads; errors of shares
//   - deadlocks: the locks of contended servers
//   - counts: a test of the cost of observations
//   - unwind: prywalk's walker beside other unwinders
//   - oracle, otlp, nineprograms: single-stepping; the OpenTelemetry format; first lines of reports
//   - charts: the pictures of docs/performance.md
//
// A figure is a count, or a ratio of two things measured side by side in one run. The product imports nothing of this
// module.
package benchmarks
