// SPDX-License-Identifier: Apache-2.0

package top

// Values are what threads used: the ticks at which they were seen, and the three clocks, in nanoseconds.
type Values struct{ Samples, Wall, RunQueue, CPU int64 }

// Blocked is the time in which threads neither ran nor were ready to.
func (v Values) Blocked() int64 { return max(0, v.Wall-v.RunQueue-v.CPU) }

func (v *Values) add(o Values) {
	v.Samples += o.Samples
	v.Wall += o.Wall
	v.RunQueue += o.RunQueue
	v.CPU += o.CPU
}

// Clock is one of the kinds of time that a table can be of.
type Clock string

// The clocks, by the names that report --value has for them.
const (
	CPU      Clock = "cpu"
	RunQueue Clock = "runqueue"
	Blocked  Clock = "blocked"
	Wall     Clock = "wall"
)

// Clocks lists them.
func Clocks() []Clock { return []Clock{CPU, RunQueue, Blocked, Wall} }

// Of gives the time by one clock.
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
