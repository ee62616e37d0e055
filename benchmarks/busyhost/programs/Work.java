// SPDX-License-Identifier: Apache-2.0
// Three threads parse and sort text. For each line of stdin the sum of their rounds and the time in ns are printed.

import java.util.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.*;

class Work {
    static final AtomicLong rounds = new AtomicLong();

    static int round(int seed) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) text.append((i * 7919 + seed) % 10007).append(i % 9 == 0 ? '\n' : ' ');
        Map<Integer, List<String>> byLength = Arrays.stream(text.toString().split("\\s+"))
            .sorted(Comparator.comparing((String s) -> s.charAt(s.length() - 1)).thenComparing(s -> s))
            .collect(Collectors.groupingBy(String::length));
        return byLength.values().stream().mapToInt(List::size).sum();
    }

    public static void main(String[] args) {
        for (int k = 0; k < 3; k++) {
            Thread worker = new Thread(() -> {
                for (int seed = 0; ; seed++) {
                    if (round(seed) != 500) throw new AssertionError();
                    rounds.incrementAndGet();
                }
            }, "work-" + k);
            worker.setDaemon(true);
            worker.start();
        }
        for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
            in.nextLine();
            System.out.println(rounds.get() + " " + System.nanoTime());
        }
    }
}
