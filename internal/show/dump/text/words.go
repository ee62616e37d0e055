// SPDX-License-Identifier: Apache-2.0

package text

import "prywalk/internal/base/tabular"

func count(n int, noun string) string { return tabular.Plural(int64(n), noun) }

func waiting(n int, noun string) string { return count(n, noun) + pluralForm(n, " waits", " wait") }

func pluralForm(n int, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}

const maxShown = 8

func enumerate(names []string) string { return tabular.List(names, maxShown) }

func withSeparator(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}
