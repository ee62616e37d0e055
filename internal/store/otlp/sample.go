// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"prywalk/internal/base/languages"
	"prywalk/internal/base/protobuf"
)

// Sample is a Sample (profiles.proto). Stack and Attributes are the dictionary's numbers.
type Sample struct {
	Stack      int64
	Attributes []int64
	Link       int64 // 0: none
	Values     []int64
	Times      []uint64 // of each value, Unix ns; nil: none
}

// Message encodes the sample.
func (s *Sample) Message() (m protobuf.Message) {
	m.Int(1, s.Stack)
	m.Ints(2, s.Attributes)
	m.Int(3, s.Link)
	m.Ints(4, s.Values)
	m.Fixeds(5, s.Times)
	return m
}

// ThreadAttributes are a sample's thread and state. Zero values are left out.
type ThreadAttributes struct {
	TID                                            int64
	Name, State, Wait, WaitsFor, Owner, Role, Task string
}

// ThreadAttributes returns their numbers, named by OpenTelemetry's semantic conventions where these have a name.
func (d *Dictionary) ThreadAttributes(t *ThreadAttributes) (list []int64) {
	if t.TID != 0 {
		list = append(list, d.Attribute("thread.id", t.TID))
	}
	for _, a := range [...]struct{ key, value string }{
		{"thread.name", t.Name}, {"prywalk.thread.state", t.State}, {"prywalk.wait", t.Wait},
		{"prywalk.waits_for", t.WaitsFor}, {"prywalk.owner", t.Owner}, {"prywalk.thread.role", t.Role},
		{"prywalk.task", t.Task},
	} {
		if a.value != "" {
			list = append(list, d.Attribute(a.key, a.value))
		}
	}
	return list
}

// FrameType returns profile.frame.type (OpenTelemetry's semantic conventions, profile) by a frame's mapping.
func FrameType(mapping string) string {
	if mapping == "[kernel]" {
		return "kernel"
	}
	if l := languages.OfMapping(mapping); l != nil && l.Kind != "" {
		return l.Kind
	}
	return "native"
}
