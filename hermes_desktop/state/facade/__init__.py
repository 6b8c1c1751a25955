"""The facade SessionDB, the public interface of the state layer."""
