import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * A shop: Shop WORKERS SLEEPERS. A worker serves one order after the other: parse (Jackson), store and query (H2),
 * search (Lucene), render (Jackson). Each of these five has one caller, and measures its own processor time: the truth
 * for who samples it. Each line on standard input is answered by what was done so far, as JSON.
 */
public final class Shop {
    private static final int STAGES = 5;
    private static final int GOODS = 5000;
    private static final int DOCUMENTS = 8000;
    private static final int BUCKETS = 33 << 5; // as package load has them
    private static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    private static final AtomicLongArray used = new AtomicLongArray(STAGES);
    private static final AtomicLongArray lengths = new AtomicLongArray(BUCKETS);
    private static final AtomicLongArray served = new AtomicLongArray(1);
    private static final ObjectMapper json = new ObjectMapper();
    private static IndexSearcher searcher;

    private final Random random;
    private final Connection db;
    private final PreparedStatement insert;
    private final PreparedStatement stock;
    private final PreparedStatement sum;
    private final String[] orders = new String[64];

    private Shop(int number) throws Exception {
        random = new Random(number);
        db = DriverManager.getConnection("jdbc:h2:mem:shop" + number);
        db.createStatement().execute("create table goods(id int primary key, name varchar(40), stock int, price int)");
        db.createStatement().execute("create table sold(id int primary key, good int, n int)");
        db.createStatement().execute("create index by_good on sold(good)");
        PreparedStatement p = db.prepareStatement("insert into goods values(?, ?, ?, ?)");
        for (int i = 0; i < GOODS; i++) {
            p.setInt(1, i);
            p.setString(2, word(i));
            p.setInt(3, 1000);
            p.setInt(4, i % 97);
            p.execute();
        }
        db.setAutoCommit(false);
        insert = db.prepareStatement("merge into sold key(id) values(?, ?, ?)");
        stock = db.prepareStatement("update goods set stock = stock - ? where id = ?");
        sum = db.prepareStatement("select g.name, sum(s.n * g.price) from sold s join goods g on g.id = s.good"
                + " where s.good between ? and ? group by g.name order by 2 desc limit 5");
        for (int i = 0; i < orders.length; i++) {
            orders[i] = order(i);
        }
    }

    private static String word(int i) {
        return "word" + i % 400;
    }

    private String order(int i) throws Exception {
        ObjectNode o = json.createObjectNode().put("id", i).put("customer", "customer number " + i);
        ArrayNode lines = o.putArray("lines");
        for (int k = 0; k < 24; k++) {
            lines.addObject().put("good", random.nextInt(GOODS)).put("n", 1 + random.nextInt(9))
                    .put("note", word(random.nextInt(400)) + " " + word(random.nextInt(400))).put("rate", 1.5 * k);
        }
        return json.writeValueAsString(o);
    }

    private JsonNode parse(String order) throws Exception {
        JsonNode out = null;
        for (int i = 0; i < 4; i++) {
            out = json.readTree(order);
        }
        return out;
    }

    private void store(JsonNode order) throws Exception {
        for (int i = 0; i < 6; i++) {
            JsonNode line = order.get("lines").get(i);
            insert.setInt(1, random.nextInt(20000));
            insert.setInt(2, line.get("good").asInt());
            insert.setInt(3, line.get("n").asInt());
            insert.execute();
            stock.setInt(1, line.get("n").asInt());
            stock.setInt(2, line.get("good").asInt());
            stock.execute();
        }
        db.commit();
    }

    private ObjectNode query() throws Exception {
        int from = random.nextInt(GOODS);
        sum.setInt(1, from);
        sum.setInt(2, from + 10);
        ObjectNode out = json.createObjectNode();
        try (ResultSet r = sum.executeQuery()) {
            while (r.next()) {
                out.put(r.getString(1), r.getLong(2));
            }
        }
        return out;
    }

    private void search(ObjectNode out) throws Exception {
        BooleanQuery q = new BooleanQuery.Builder()
                .add(new TermQuery(new Term("text", word(random.nextInt(400)))), BooleanClause.Occur.SHOULD)
                .add(new TermQuery(new Term("text", word(random.nextInt(400)))), BooleanClause.Occur.SHOULD).build();
        ArrayNode found = out.putArray("found");
        for (ScoreDoc d : searcher.search(q, 10).scoreDocs) {
            found.addObject().put("document", d.doc).put("score", d.score);
        }
    }

    private int render(ObjectNode out, JsonNode order) throws Exception {
        out.set("order", order);
        int n = 0;
        for (int i = 0; i < 4; i++) {
            n += json.writeValueAsString(out).length();
        }
        return n;
    }

    private static long lap(int stage, long from) {
        long now = clock.getCurrentThreadCpuTime();
        used.addAndGet(stage, now - from);
        return now;
    }

    private void serve() throws Exception {
        long at = clock.getCurrentThreadCpuTime();
        JsonNode order = parse(orders[random.nextInt(orders.length)]);
        at = lap(0, at);
        store(order);
        at = lap(1, at);
        ObjectNode out = query();
        at = lap(2, at);
        search(out);
        at = lap(3, at);
        render(out, order);
        lap(4, at);
    }

    private static int bucketOf(long ns) {
        int shift = Math.max(0, 64 - Long.numberOfLeadingZeros(ns) - 6);
        return Math.min((shift << 5) + (int) (ns >>> shift), BUCKETS - 1);
    }

    private static void work(int number) {
        try {
            Shop shop = new Shop(number);
            for (;;) {
                long from = System.nanoTime();
                shop.serve();
                lengths.incrementAndGet(bucketOf(System.nanoTime() - from));
                served.incrementAndGet(0);
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void index() throws Exception {
        ByteBuffersDirectory dir = new ByteBuffersDirectory();
        Random random = new Random(1);
        try (IndexWriter w = new IndexWriter(dir, new IndexWriterConfig(new StandardAnalyzer()))) {
            for (int i = 0; i < DOCUMENTS; i++) {
                StringBuilder text = new StringBuilder();
                for (int k = 0; k < 30; k++) {
                    text.append(word((int) (Math.abs(random.nextGaussian()) * 130))).append(' ');
                }
                Document d = new Document();
                d.add(new TextField("text", text.toString(), Field.Store.NO));
                d.add(new StoredField("number", i));
                w.addDocument(d);
            }
        }
        searcher = new IndexSearcher(DirectoryReader.open(dir));
    }

    private static void start(String name, Runnable body) {
        Thread t = new Thread(null, body, name, 512 * 1024);
        t.setDaemon(true);
        t.start();
    }

    private static String report() {
        StringBuilder s = new StringBuilder("{\"work\":" + served.get(0) + ",\"at\":" + System.nanoTime() + ",\"used\":[");
        for (int i = 0; i < STAGES; i++) {
            s.append(i > 0 ? "," : "").append(used.get(i));
        }
        s.append("],\"waits\":[");
        String comma = "";
        for (int b = 0; b < BUCKETS; b++) {
            long n = lengths.getAndSet(b, 0);
            if (n > 0) {
                s.append(comma).append("[").append(b).append(",").append(n).append("]");
                comma = ",";
            }
        }
        return s.append("]}").toString();
    }

    public static void main(String[] args) throws Exception {
        index();
        CountDownLatch never = new CountDownLatch(1);
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            start("sleeper-" + i, () -> {
                try {
                    never.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            int number = i;
            start("worker-" + i, () -> work(number));
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            System.out.println(report());
        }
        System.exit(0);
    }
}

// SPDX-License-Identifier: Apache-2.0
