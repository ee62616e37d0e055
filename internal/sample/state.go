// SPDX-License-Identifier: Apache-2.0

package sample

// State is what a thread did when it was observed.
type State uint8

// The states. Running covers a thread that is on a processor and one that is queued for one: the kernel reports both
// as R.
const (
	Running State = iota
	Sleeping
	Disk
	Stopped
)

// String gives the name that recordings use.
func (s State) String() string {
	switch s {
	case Running:
		return "running"
	case Disk:
		return "disk"
	case Stopped:
		return "stopped"
	}
	return "sleeping"
}

// Letter gives the kernel's letter for the state (proc_pid_stat(5)).
func (s State) Letter() string {
	switch s {
	case Running:
		return "R"
	case Disk:
		return "D"
	case Stopped:
		return "T"
	}
	return "S"
}

// StateOf translates the kernel's letter. Idle (I) and parked (P) belong to kernel threads; t is a thread that a
// debugger holds.
func StateOf(letter byte) State {
	switch letter {
	case 'R':
		return Running
	case 'D':
		return Disk
	case 'T', 't':
		return Stopped
	}
	return Sleeping
}
