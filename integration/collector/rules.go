// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// checker checks a message by the rules of OpenTelemetry's profcheck and those in the comments of profiles.proto.
//
// Sources: profcheck of github.com/open-telemetry/sig-profiling, commit d2ab6d5, with all options;
// opentelemetry/proto/profiles/v1development/profiles.proto of release 1.9. Beyond profcheck: entries of all tables and
// samples are unique, strings are UTF-8, addresses lie in their mapping, values are positive, ids of profiles are
// unique.
type checker struct {
	d      pprofile.ProfilesDictionary
	used   map[string]map[int32]bool
	broken []string
}

const maxViolations = 20

func (c *checker) violation(format string, args ...any) {
	if len(c.broken) < maxViolations {
		c.broken = append(c.broken, fmt.Sprintf(format, args...))
	}
}

func check(p pprofile.Profiles) []string {
	c := &checker{d: p.Dictionary(), used: map[string]map[int32]bool{}}
	c.zeros()
	if len(c.broken) > 0 {
		return c.broken
	}
	ids := map[pprofile.ProfileID]bool{}
	if p.ResourceProfiles().Len() == 0 {
		c.violation("message without a resource")
	}
	for _, r := range p.ResourceProfiles().All() {
		if r.ScopeProfiles().Len() == 0 {
			c.violation("resource without a scope")
		}
		for _, s := range r.ScopeProfiles().All() {
			if s.Profiles().Len() == 0 {
				c.violation("scope without a profile")
			}
			for _, one := range s.Profiles().All() {
				if id := one.ProfileID(); id.IsEmpty() || ids[id] {
					c.violation("profile without a unique id")
				} else {
					ids[id] = true
				}
				c.profile(one)
			}
		}
	}
	c.tables()
	return c.broken
}

func (c *checker) zeros() {
	d := c.d
	if d.StringTable().Len() == 0 || d.MappingTable().Len() == 0 || d.LocationTable().Len() == 0 ||
		d.FunctionTable().Len() == 0 || d.LinkTable().Len() == 0 || d.AttributeTable().Len() == 0 ||
		d.StackTable().Len() == 0 {
		c.violation("table without an entry")
		return
	}
	m, l, f, a := d.MappingTable().At(0), d.LocationTable().At(0), d.FunctionTable().At(0), d.AttributeTable().At(0)
	if d.StringTable().At(0) != "" || m.MemoryStart() != 0 || m.MemoryLimit() != 0 || m.FileOffset() != 0 ||
		m.FilenameStrindex() != 0 || m.AttributeIndices().Len() != 0 || l.MappingIndex() != 0 || l.Address() != 0 ||
		l.Lines().Len() != 0 || l.AttributeIndices().Len() != 0 || f.NameStrindex() != 0 || f.SystemNameStrindex() != 0 ||
		f.FilenameStrindex() != 0 || f.StartLine() != 0 || !d.LinkTable().At(0).TraceID().IsEmpty() ||
		a.KeyStrindex() != 0 || a.Value().Type() != pcommon.ValueTypeEmpty || a.UnitStrindex() != 0 ||
		d.StackTable().At(0).LocationIndices().Len() != 0 {
		c.violation("table that does not begin with the zero value")
	}
}

func (c *checker) use(table string, length int, i int32) bool {
	if i < 0 || int(i) >= length {
		c.violation("reference to %s %d of %d", table, i, length)
		return false
	}
	if c.used[table] == nil {
		c.used[table] = map[int32]bool{}
	}
	c.used[table][i] = true
	return true
}

func (c *checker) text(i int32) { c.use("string", c.d.StringTable().Len(), i) }

func (c *checker) attributes(list pcommon.Int32Slice) {
	keys := map[int32]bool{}
	for _, i := range list.All() {
		if i == 0 || !c.use("attribute", c.d.AttributeTable().Len(), i) {
			c.violation("attribute %d", i)
			continue
		}
		key := c.d.AttributeTable().At(int(i)).KeyStrindex()
		if keys[key] {
			c.violation("duplicate attribute key")
		}
		keys[key] = true
	}
}

func (c *checker) profile(p pprofile.Profile) {
	c.text(p.SampleType().TypeStrindex())
	c.text(p.SampleType().UnitStrindex())
	c.text(p.PeriodType().TypeStrindex())
	c.text(p.PeriodType().UnitStrindex())
	c.attributes(p.AttributeIndices())
	if p.Time() == 0 || p.DurationNano() == 0 {
		c.violation("profile without time")
	}
	identities, shapes := map[string]bool{}, map[bool]bool{}
	for _, s := range p.Samples().All() {
		c.use("stack", c.d.StackTable().Len(), s.StackIndex())
		c.use("link", c.d.LinkTable().Len(), s.LinkIndex())
		c.attributes(s.AttributeIndices())
		key := fmt.Sprint(s.StackIndex(), s.LinkIndex(), s.AttributeIndices().AsRaw())
		if identities[key] {
			c.violation("two samples with the same identity")
		}
		identities[key] = true
		values, times := s.Values().Len(), s.TimestampsUnixNano().Len()
		if times != 0 && times != values || times == 0 && values != 1 {
			c.violation("sample with %d values and %d time stamps", values, times)
		}
		shapes[times > 0] = true
		for _, at := range s.TimestampsUnixNano().All() {
			if begin := uint64(p.Time()); at < begin || at >= begin+p.DurationNano() {
				c.violation("time stamp outside of the profile's time")
			}
		}
		for _, v := range s.Values().All() {
			if v <= 0 {
				c.violation("sample value %d", v)
			}
		}
	}
	if len(shapes) > 1 {
		c.violation("samples of different shapes")
	}
}

func (c *checker) tables() {
	d := c.d
	for i := range d.StackTable().Len() {
		for _, l := range d.StackTable().At(i).LocationIndices().All() {
			if c.use("location", d.LocationTable().Len(), l); l == 0 {
				c.violation("stack with location 0")
			}
		}
	}
	for i := range d.LocationTable().Len() {
		l := d.LocationTable().At(i)
		c.use("mapping", d.MappingTable().Len(), l.MappingIndex())
		c.attributes(l.AttributeIndices())
		for _, line := range l.Lines().All() {
			c.use("function", d.FunctionTable().Len(), line.FunctionIndex())
			if line.Line() < 0 || line.Column() < 0 {
				c.violation("line %d, column %d", line.Line(), line.Column())
			}
		}
		if m := l.MappingIndex(); m > 0 && l.Address() != 0 && int(m) < d.MappingTable().Len() {
			if at := d.MappingTable().At(int(m)); l.Address() < at.MemoryStart() || l.Address() > at.MemoryLimit() {
				c.violation("the address %x is not in its mapping of %s, %x to %x", l.Address(),
					c.d.StringTable().At(int(at.FilenameStrindex())), at.MemoryStart(), at.MemoryLimit())
			}
		}
	}
	for i := range d.MappingTable().Len() {
		m := d.MappingTable().At(i)
		c.text(m.FilenameStrindex())
		c.attributes(m.AttributeIndices())
		if from, to := m.MemoryStart(), m.MemoryLimit(); (from != 0 || to != 0) && from >= to {
			c.violation("mapping from %x to %x", from, to)
		}
	}
	for i := range d.FunctionTable().Len() {
		f := d.FunctionTable().At(i)
		c.text(f.NameStrindex())
		c.text(f.SystemNameStrindex())
		c.text(f.FilenameStrindex())
		if f.StartLine() < 0 {
			c.violation("function that begins at line %d", f.StartLine())
		}
		if i > 0 && f.NameStrindex() == 0 && f.SystemNameStrindex() == 0 && f.FilenameStrindex() == 0 {
			c.violation("function without a name")
		}
	}
	for i := range d.AttributeTable().Len() {
		c.text(d.AttributeTable().At(i).KeyStrindex())
		c.text(d.AttributeTable().At(i).UnitStrindex())
	}
	for _, s := range d.StringTable().All() {
		if !utf8.ValidString(s) {
			c.violation("string that is not UTF-8")
		}
	}
	c.unique("string", d.StringTable().Len(), func(i int) string { return d.StringTable().At(i) })
	c.unique("stack", d.StackTable().Len(), func(i int) string {
		return fmt.Sprint(d.StackTable().At(i).LocationIndices().AsRaw())
	})
	c.unique("mapping", d.MappingTable().Len(), func(i int) string {
		m := d.MappingTable().At(i)
		return fmt.Sprint(m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), m.FilenameStrindex(), m.AttributeIndices().AsRaw())
	})
	c.unique("function", d.FunctionTable().Len(), func(i int) string {
		f := d.FunctionTable().At(i)
		return fmt.Sprint(f.NameStrindex(), f.SystemNameStrindex(), f.FilenameStrindex(), f.StartLine())
	})
	c.unique("attribute", d.AttributeTable().Len(), func(i int) string {
		a := d.AttributeTable().At(i)
		return fmt.Sprint(a.KeyStrindex(), a.Value().Type(), a.Value().AsString(), a.UnitStrindex())
	})
	c.unique("location", d.LocationTable().Len(), func(i int) string {
		l := d.LocationTable().At(i)
		key := fmt.Sprint(l.MappingIndex(), l.Address(), l.AttributeIndices().AsRaw())
		for _, n := range l.Lines().All() {
			key += fmt.Sprint(" ", n.FunctionIndex(), n.Line(), n.Column())
		}
		return key
	})
}

func (c *checker) unique(table string, n int, key func(int) string) {
	known := map[string]bool{}
	for i := range n {
		k := key(i)
		if known[k] {
			c.violation("duplicate %s: %s", table, k)
		}
		known[k] = true
		if i > 0 && !c.used[table][int32(i)] {
			c.violation("%s %d is not referred to", table, i)
		}
	}
}
