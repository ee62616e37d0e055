// SPDX-License-Identifier: Apache-2.0

package top

// Values are ticks, and the clocks in ns.
type Values struct{ Samples, Wall, RunQueue, CPU int64 }

// Blocked is the wall time neither on a CPU nor in the run queue.
func (v Values) Blocked() int64 { return max(0, v.Wall-v.RunQueue-v.CPU) }

func (v *Values) add(o Values) {
	v.Samples += o.Samples
	v.Wall += o.Wall
	v.RunQueue += o.RunQueue
	v.CPU += o.CPU
}

// Clock is a kind of time.
type Clock string

// Clocks, as in report --value.
const (
	CPU      Clock = "cpu"
	RunQueue Clock = "runqueue"
	Blocked  Clock = "blocked"
	Wall     Clock = "wall"
)

// Clocks returns all clocks.
func Clocks() []Clock { return []Clock{CPU, RunQueue, Blocked, Wall} }

// Of is the time by a clock.
func (v Values) Of(c Clock) int64 {
	switch c {
	case RunQueue:
		return v.RunQueue
	case Blocked:
		return v.Blocked()
	case Wall:
		return v.Wall
	default:
		return v.CPU
	}
}
