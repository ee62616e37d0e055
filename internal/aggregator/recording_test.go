// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"

	"prywalk/internal/attribute"
	"prywalk/internal/handover"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

func TestProgramOfUnknownNameHasALabel(t *testing.T) {
	a := New(Options{Builder: profile.NewBuilder(profile.Meta{})}, handover.NewCommon())
	p := ofPID(4711)
	for name, want := range map[string]string{"": "[children: ?]", "ls": "[children: ls]"} {
		s := attribute.Span{
			Seen: attribute.Seen{Program: orUnknown(name), State: sample.Running}, Leaf: attribute.ExitedUnseen,
		}
		if got := a.interval(p, nil, &s).Thread; got != want {
			t.Errorf("thread of program %q is named %q, want %q", name, got, want)
		}
	}
}
