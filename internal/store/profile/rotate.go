// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Rotate writes the intervals so far as [Builder.WriteFile] does, and begins a new part. Stacks, locations and names
// stay until [Builder.Evict]. After an error the new part has all intervals.
func (b *Builder) Rotate(path string, r Resolver) error {
	frozen, endedJournal, endedSums := b.endPart()
	err := writeFile(path, " with -o", func(w io.Writer) error { return b.writeFrozen(w, frozen, r) })
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.rotated = true
		endedJournal.spill.close()
		return nil
	}
	b.meta.Start = frozen.meta.Start
	return errors.Join(err, b.restore(endedJournal, endedSums))
}

// PartStart returns the start of the present part.
func (b *Builder) PartStart() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.meta.Start
}

func (b *Builder) endPart() (*frozenTables, journal, sums) {
	b.mu.Lock()
	defer b.mu.Unlock()
	frozen, endedJournal, endedSums := b.freeze(), b.journal, b.sums
	b.journal, b.sums = newJournal(&b.meta), sums{}
	b.meta.Start = frozen.end
	return frozen, endedJournal, endedSums
}

// restore puts the intervals of an ended part back, before those added since. Precondition: b.mu is held.
func (b *Builder) restore(journalBefore journal, sumsBefore sums) error {
	late := b.journal
	defer late.spill.close()
	b.journal = journalBefore
	err := late.intervals(b.journal.append)
	for i := range b.sums.rows {
		sumsBefore.add(&b.sums.rows[i])
	}
	b.sums = sumsBefore
	return err
}

// Join returns the sum of recordings, such as the parts of [Builder.Rotate]. It lasts from the begin of the first to
// the end of the last. It fails if their clocks differ.
func Join(all []*profile.Profile) (*profile.Profile, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("%w; give recordings with the same clocks", err)
	}
	end := int64(0)
	for _, p := range all {
		end = max(end, p.TimeNanos+p.DurationNanos)
	}
	if sum.TimeNanos != 0 {
		sum.DurationNanos = end - sum.TimeNanos
	}
	sum.Comments = slices.DeleteFunc(sum.Comments, func(c string) bool {
		return strings.HasPrefix(c, "part ") && strings.HasSuffix(c, partOf)
	})
	return sum, nil
}

const partOf = " of a recording that goes on"

// PartComment is the comment of part n, from 1, of a recording.
func PartComment(n int) string { return fmt.Sprintf("part %d%s", n, partOf) }
