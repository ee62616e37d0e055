// SPDX-License-Identifier: Apache-2.0

// Package recordings finds the complete stacks in a profile of prywalk, and the ends of the others.
package recordings

import (
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/incomplete"
)

// Columns: ticks, and three clocks, ns.
const (
	SamplesColumn = iota
	WallColumn
	QueueColumn
	CPUColumn
	Columns
)

// Outermost returns the function at an address, without inlined calls; "": no name.
func Outermost(l *profile.Location) string {
	if n := len(l.Line); n > 0 && l.Line[n-1].Function != nil {
		return l.Line[n-1].Function.Name
	}
	return ""
}

// Synthetic reports whether an entry of a stack is not code.
func Synthetic(l *profile.Location) bool {
	return l.Mapping == nil && l.Address == 0 && strings.HasPrefix(Outermost(l), "[")
}

// Unobserved reports whether no observation stands for the sample's CPU time.
func Unobserved(s *profile.Sample) bool {
	switch Outermost(s.Location[0]) {
	case attribute.RanBetweenTicks, attribute.ExitedUnseen, attribute.ShortLivedChildren, attribute.NotObserved:
		return Synthetic(s.Location[0])
	}
	return false
}

// StopReason returns why a stack is incomplete; "": it is complete.
func StopReason(s *profile.Sample) string {
	last := s.Location[len(s.Location)-1]
	reason, _ := incomplete.Reason(Outermost(last))
	if !Synthetic(last) {
		return ""
	}
	return reason
}
