// SPDX-License-Identifier: Apache-2.0

package sample

// State is what a thread did when it was observed.
type State uint8

// Values of [State]. Running: on a CPU or queued for one (the kernel's R).
const (
	Running State = iota
	Sleeping
	Disk
	Stopped
)

// String returns the name in recordings.
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

// Letter returns the kernel's letter (proc_pid_stat(5)).
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

// StateOf converts the kernel's letter. I and P are of kernel threads, t is a thread stopped by a debugger.
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
