// Package sampler makes all looks at all threads of the targets, and books the time in between.
//
// Three goroutines share the work.
//
//   - The tracer, on an OS thread of its own with a raised priority, looks at threads at each tick (tick.go,
//     package look). It copies what it must and hands the copies over. It allocates nothing in a steady state, and
//     never waits for anything but the targets. When it looks is decided in package schedule, whom it leaves alone
//     in package idle, and where it sleeps in package skid.
//   - The accountant unwinds the copies (unwind.go), and divides the threads' clocks among the stacks (package
//     booking). All that it books goes to the recording in one place (accountant.add).
//   - The scout, if children are followed, watches for new processes.
//
// Messages go one way, from the tracer to the accountant (outbox.go). Each process and each thread has two halves:
// one that the tracer owns (targets.go), and an account that it makes and hands over (account.go).
package sampler
