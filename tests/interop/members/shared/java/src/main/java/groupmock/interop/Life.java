package groupmock.interop;

/** A member's process: what it fails by is said, and it ends whatever threads its client has left. */
final class Life {
    interface Body {
        void run(Wish wish) throws Exception;
    }

    private Life() {
    }

    static void of(Body body) {
        int status = 0;
        try {
            body.run(new Wish(System.getenv("MEMBER")));
        } catch (Throwable failed) {
            Say.line("failed", "\"why\": " + Say.quoted(failed.toString()));
            failed.printStackTrace();
            status = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }
}
