// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"
)

// Only splits a flag -only at commas; all known names if it is empty.
func Only(value string, known []string) ([]string, error) {
	if value == "" {
		return known, nil
	}
	names := strings.Split(value, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("-only %q: choose from %q", name, known)
		}
	}
	return names, nil
}
