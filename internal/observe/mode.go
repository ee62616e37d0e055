// SPDX-License-Identifier: Apache-2.0

package observe

import "fmt"

// Mode selects the ways of observing. The hidden flag --rung forces one.
type Mode uint8

// The modes.
const (
	ModeAuto        Mode = iota // the least intrusive way that is possible
	ModePassiveOnly             // running threads are not observed
	ModeAlwaysRead              // unchanged threads are read, too
	ModeAlwaysStop              // also sleepers, at every tick
)

var modeNames = [...]string{"auto", "passive", "no-reuse", "stop"}

// String returns the name on the command line.
func (m Mode) String() string { return modeNames[m] }

func (m Mode) rereadsUnchanged() bool { return m == ModeAlwaysRead || m == ModeAlwaysStop }

// ParseMode parses a name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no way to observe a thread: choose one of %v", name, modeNames)
}
