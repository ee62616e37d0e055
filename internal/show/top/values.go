// SPDX-License-Identifier: Apache-2.0

package top

// Values are ticks, and the clocks in ns.
type Values struct{ Samples, Wall, RunQueue, CPU int64 }

// blocked is the wall time neither on a CPU nor in the run queue.
func (v Values) blocked() int64 { return max(0, v.Wall-v.RunQueue-v.CPU) }

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
	blocked  Clock = "blocked"
	Wall     Clock = "wall"
)

// Clocks returns all clocks.
func Clocks() []Clock { return []Clock{CPU, RunQueue, blocked, Wall} }

// of is the time by a clock.
func (v Values) of(c Clock) int64 {
	switch c {
	case RunQueue:
		return v.RunQueue
	case blocked:
		return v.blocked()
	case Wall:
		return v.Wall
	default:
		return v.CPU
	}
}
