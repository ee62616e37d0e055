// SPDX-License-Identifier: Apache-2.0

package managed

// Parker is a Runtime that knows of tasks which no thread has while they wait, and whose stacks are not walked.
type Parker interface {
	Runtime
	// Parked counts the tasks that wait. The error says why that is not known.
	Parked() (Parked, error)
}

// Parked is how many tasks of a process wait without a thread.
type Parked struct {
	// Waiting leaves out those of the run-time system itself.
	Waiting int
	// Reasons are the same by what they wait for, as the run-time system words it; empty where that is not known.
	Reasons map[string]int
	// Since is about when the longest wait began, CLOCK_MONOTONIC in nanoseconds; 0: not known.
	Since uint64
}
