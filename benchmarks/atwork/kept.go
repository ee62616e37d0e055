// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

func load(path string) (all []row, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to start over", path, err)
	}
	return all, nil
}

func save(path string, all []row) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func replaceRow(all []row, r row) []row {
	if i := slices.IndexFunc(all, func(old row) bool { return old.Name == r.Name }); i >= 0 && r.Before == nil {
		r.Before = all[i].Before
	}
	all = slices.DeleteFunc(all, func(old row) bool { return old.Name == r.Name })
	all = append(all, r)
	order := names(programs())
	slices.SortStableFunc(all, func(a, b row) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	return all
}

func has(all []row, name string) bool {
	return slices.ContainsFunc(all, func(r row) bool { return r.Name == name && r.Error == "" })
}

func revisions(all []row) string {
	var list []string
	for i := range all {
		if r := all[i].Revision; r != "" && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return strings.Join(list, ", ")
}
