"""Local differential privacy: clients perturb what they report, and a collector whom nobody trusts estimates.

>>> scheme = HadamardResponse(domain=["bus", "car", "train"], epsilon=2)
>>> reports = scheme.client().encode(["car", "bus", "car"])
>>> scheme.server().add(reports).estimate().frequencies.shape
(3,)
"""

from discreet.local._estimate import Estimate, SupportEstimate
from discreet.local._files import add_files, to_arrow
from discreet.local._frequencies._count_mean import CountMeanSketch
from discreet.local._frequencies._hadamard import HadamardResponse
from discreet.local._frequencies._hadamard_count_mean import HadamardCountMeanSketch
from discreet.local._frequencies._information import Information
from discreet.local._frequencies._kary import KaryRandomizedResponse
from discreet.local._frequencies._local_hashing import LocalHashing
from discreet.local._frequencies._projective import ProjectiveGeometry
from discreet.local._frequencies._subset import SubsetSelection
from discreet.local._frequencies._unary import OptimizedUnary, SymmetricUnary
from discreet.local._frequencies._warner import Survey, Warner
from discreet.local._numbers._bounded import MeanEstimate
from discreet.local._numbers._distribution import Distribution
from discreet.local._numbers._means import Duchi, Hybrid, Piecewise
from discreet.local._numbers._square_wave import SquareWave
from discreet.local._rappor._basic import BasicRappor
from discreet.local._rappor._estimate import RapporEstimate
from discreet.local._rappor._rappor import Rappor
from discreet.local._reports import Reports
from discreet.local._schema import from_json, json_schema
from discreet.local._scheme import Scheme
from discreet.local._server import Server
from discreet.local._several._attributes_estimate import AttributesEstimate
from discreet.local._several._key_value_estimate import KeyValueEstimate
from discreet.local._several._key_values import KeyValues
from discreet.local._several._marginal_tables import Marginal, MarginalsEstimate
from discreet.local._several._marginals import Marginals
from discreet.local._several._sampled_attributes import SampledAttributes
from discreet.local._spark import add_frame
from discreet.local._two_servers._client import ShareClient
from discreet.local._two_servers._kinds import TwoServerCount, TwoServerHistogram, TwoServerSum
from discreet.local._two_servers._server import ShareServer
from discreet.local._two_servers._total import PublishedShare, Total
from discreet.local._two_servers._two_servers import TwoServers, commitment
from discreet.local._two_servers._vectors import TwoServerSets, TwoServerSums
from discreet.local._vectors._priv_unit import PrivUnit
from discreet.local._vectors._vector_estimate import VectorEstimate
from discreet.local._words._fragment_puzzle import SequenceFragmentPuzzle
from discreet.local._words._prefix_extending import PrefixExtending
from discreet.local._words._tree_hist import TreeHist
from discreet.local._words._words import WordsEstimate

__all__ = [
    "AttributesEstimate",
    "BasicRappor",
    "CountMeanSketch",
    "Distribution",
    "Duchi",
    "Estimate",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "Hybrid",
    "Information",
    "KaryRandomizedResponse",
    "KeyValueEstimate",
    "KeyValues",
    "LocalHashing",
    "Marginal",
    "Marginals",
    "MarginalsEstimate",
    "MeanEstimate",
    "OptimizedUnary",
    "Piecewise",
    "PrefixExtending",
    "PrivUnit",
    "ProjectiveGeometry",
    "PublishedShare",
    "Rappor",
    "RapporEstimate",
    "Reports",
    "SampledAttributes",
    "Scheme",
    "SequenceFragmentPuzzle",
    "Server",
    "ShareClient",
    "ShareServer",
    "SquareWave",
    "SubsetSelection",
    "SupportEstimate",
    "Survey",
    "SymmetricUnary",
    "Total",
    "TreeHist",
    "TwoServerCount",
    "TwoServerHistogram",
    "TwoServerSets",
    "TwoServerSum",
    "TwoServerSums",
    "TwoServers",
    "VectorEstimate",
    "Warner",
    "WordsEstimate",
    "add_files",
    "add_frame",
    "commitment",
    "from_json",
    "json_schema",
    "to_arrow",
]
